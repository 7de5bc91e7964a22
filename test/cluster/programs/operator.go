package programs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// BuildOperator builds cmd/controlee of a checkout to a file. What is built is kept in the user's
// cache folder, so that the next process links only what has changed since.
func BuildOperator(ctx context.Context, root, output string) error {
	return build(ctx, root, "controlee", "./cmd/controlee", output)
}

// BuildHelm builds Helm's command line, of the module that the chart's checks use, in the same
// manner.
func BuildHelm(ctx context.Context, root, output string) error {
	return build(ctx, filepath.Join(root, "tools", "helm"), "helm", "helm.sh/helm/v3/cmd/helm", output)
}

// build builds a package of the module in a folder.
func build(ctx context.Context, module, name, program, output string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	dir := filepath.Join(cache, "controlee", "operator", fmt.Sprintf("%x", sha256.Sum256([]byte(module)))[:12])
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // G301: a program, nothing secret
		return err
	}
	unlock, err := lock(ctx, dir+".lock", io.Discard)
	if err != nil {
		return err
	}
	defer unlock()
	built := filepath.Join(dir, name)
	// The state of the checkout in the program would have it linked again at each commit.
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", built, program) //nolint:gosec // G204: the callers are above
	cmd.Dir = module
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // the go command then removes what it was at
	cmd.WaitDelay = 10 * time.Second
	if message, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, message)
	}
	// The go command makes a new file when it links, so a link to the old one keeps what it is.
	if err := os.Link(built, output); err == nil {
		return nil
	}
	return copyFile(built, output)
}

// copyFile is for when the two are not on the same file system.
func copyFile(from, to string) (err error) {
	source, err := os.Open(from) //nolint:gosec // G304: just built
	if err != nil {
		return err
	}
	defer source.Close()                                                     //nolint:errcheck // it was only read
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700) //nolint:gosec // G302, G304: a program that this user runs
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	_, err = io.Copy(target, source)
	return err
}
