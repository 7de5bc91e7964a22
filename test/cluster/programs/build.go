package programs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// binary is the name of the one program that is all of them.
const binary = "controlee-kube"

// Dir returns the folder where the programs of a checkout are, or will be once they are built.
func Dir(root string) (string, error) {
	s, err := readSource(root)
	if err != nil {
		return "", err
	}
	return s.cacheDir()
}

func (s *source) cacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder to keep the Kubernetes programs in: %w", err)
	}
	return filepath.Join(cache, "controlee", "kube", s.version+"-"+s.hash), nil
}

// Build builds the programs unless they are there, and returns their folder. Two builders wait for each other, and a
// build that was broken off leaves nothing that looks like a finished one. A nil progress is os.Stderr.
func Build(ctx context.Context, root string, progress io.Writer) (string, error) {
	if progress == nil {
		progress = os.Stderr
	}
	s, err := readSource(root)
	if err != nil {
		return "", err
	}
	dir, err := s.cacheDir()
	if err != nil {
		return "", err
	}
	if built(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // G301: programs, nothing secret
		return "", err
	}
	unlock, err := lock(ctx, dir+".lock", progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	if built(dir) {
		return dir, nil
	}
	removeUnused(filepath.Dir(dir))
	if err := s.build(ctx, dir, progress); err != nil {
		return "", fmt.Errorf("build the Kubernetes programs: %w", err)
	}
	return dir, nil
}

// built tells whether the programs are there, and notes that they are used.
func built(dir string) bool {
	if !isProgram(filepath.Join(dir, binary)) {
		return false
	}
	now := time.Now()
	os.Chtimes(dir, now, now) //nolint:errcheck // in a cache that is read-only nothing is removed either
	return true
}

func (s *source) build(ctx context.Context, dir string, out io.Writer) error {
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)                      //nolint:errcheck // what is left is removed by a later build
	if err := os.Chmod(temp, 0o755); err != nil { //nolint:gosec // G302: programs, nothing secret
		return err
	}

	fmt.Fprintf(out, "Building Kubernetes %s (etcd, kube-apiserver and more) into %s: some 10 minutes on 2 cores, the first time only.\n", s.version, dir)
	start := time.Now()
	total, err := s.download(ctx, out)
	if err != nil {
		return err
	}
	if err := s.compile(ctx, out, total, filepath.Join(temp, binary)); err != nil {
		return err
	}
	if err := link(ctx, temp); err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	fmt.Fprintf(out, "Built Kubernetes %s in %s.\n", s.version, time.Since(start).Round(time.Second))
	return nil
}

// download fetches the modules and returns how many packages are left to compile.
func (s *source) download(ctx context.Context, out io.Writer) (int, error) {
	p := startMeter(out, "Downloading modules", s.modules)
	defer p.stop()
	packages := 0
	err := s.goCommand(ctx, []string{"list", "-deps", "-trimpath", "-mod=readonly", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", "."},
		func(line string) {
			if line != "" {
				packages++
			}
		},
		func(line string) bool {
			module, ok := strings.CutPrefix(line, "go: downloading ")
			if ok {
				p.step(module)
			}
			return ok
		})
	return packages, err
}

// compile builds the program; -v makes the go command name each package when it starts on it.
func (s *source) compile(ctx context.Context, out io.Writer, total int, output string) error {
	p := startMeter(out, "Compiling packages", total)
	defer p.stop()
	arguments := append([]string{"build", "-v"}, s.buildArguments(output)...)
	return s.goCommand(ctx, append(arguments, "."), func(string) {}, func(line string) bool {
		if strings.ContainsAny(line, " :") {
			return false
		}
		p.step(line)
		return true
	})
}

// goCommand runs the go command in the module. Lines of its stderr that onErr does not take are its error message.
func (s *source) goCommand(ctx context.Context, arguments []string, onOut func(string), onErr func(string) bool) error {
	// "go list" that is interrupted leaves its temporary folder behind.
	temp, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "controlee-go-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)                            //nolint:errcheck // it is temporary
	cmd := exec.CommandContext(ctx, "go", arguments...) //nolint:gosec // G204: the arguments are this package's
	cmd.Dir = s.dir
	cmd.Env = append(environment(os.Environ()), "GOTMPDIR="+temp)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // the go command then removes what it was at
	cmd.WaitDelay = 10 * time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	outDone := make(chan struct{})
	go func() {
		defer close(outDone)
		eachLine(stdout, onOut)
	}()
	var message []string
	eachLine(stderr, func(line string) {
		if !onErr(line) {
			message = append(message, line)
		}
	})
	<-outDone
	if err := cmd.Wait(); err != nil {
		if len(message) > 40 {
			message = message[len(message)-40:]
		}
		return errors.Join(fmt.Errorf("go %s: %w", arguments[0], err), ctx.Err(), errors.New(strings.Join(message, "\n")))
	}
	return nil
}

func eachLine(r io.Reader, do func(string)) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		do(strings.TrimSpace(scanner.Text()))
	}
}

// environment keeps what says how to reach and store modules, and drops what would change the program or fail the build.
func environment(inherited []string) []string {
	var env []string
	for _, entry := range inherited {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "GOOS", "GOARCH", "GOWORK", "GO111MODULE", "CGO_ENABLED", "GOEXPERIMENT":
		case "GOFLAGS":
			flags := slices.DeleteFunc(strings.Fields(value), func(flag string) bool {
				return flag != "-modcacherw" && !strings.HasPrefix(flag, "-p=")
			})
			env = append(env, "GOFLAGS="+strings.Join(flags, " "))
		default:
			env = append(env, entry)
		}
	}
	return append(env, "GOWORK=off", "CGO_ENABLED=0")
}

// link makes a symbolic link for each program that the binary says it is.
func link(ctx context.Context, dir string) error {
	names, err := exec.CommandContext(ctx, filepath.Join(dir, binary), "programs").Output() //nolint:gosec // G204: just built
	if err != nil {
		return fmt.Errorf("ask %s for its programs: %w", binary, err)
	}
	for name := range strings.FieldsSeq(string(names)) {
		if err := os.Symlink(binary, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// unusedAfter is how long programs of other sources are kept: each set is some hundred megabytes.
const unusedAfter = 30 * 24 * time.Hour

func removeUnused(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && entry.IsDir() && time.Since(info.ModTime()) > unusedAfter {
			os.RemoveAll(filepath.Join(parent, entry.Name())) //nolint:errcheck // tried again by the next build
		}
	}
}
