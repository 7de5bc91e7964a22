package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/controlee/controlee/test/cluster/programs"
)

// Shell runs a command line as documents and messages print it: in bash, with kubectl and helm of
// the versions that the repository pins. The folder is the working directory. Without a kubeconfig
// path the caller is the admin.
func (c *Cluster) Shell(ctx context.Context, kubeconfigPath, dir, line string) (stdout, stderr string, err error) {
	tools, err := c.shellTools(ctx)
	if err != nil {
		return "", "", err
	}
	if kubeconfigPath == "" {
		if kubeconfigPath, err = c.AdminKubeconfig(); err != nil {
			return "", "", err
		}
	}
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line) //nolint:gosec // G204: running what the test says is the purpose
	cmd.Dir = dir
	home := filepath.Join(c.Dir, "run", "home")
	cmd.Env = append(os.Environ(),
		"PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+kubeconfigPath,
		"KUBECTL_KUBERC=false", "KUBECACHEDIR="+filepath.Join(c.Dir, "run", "kubectl"),
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	cmd.WaitDelay = time.Second
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), errOut.String(), fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(errOut.String()))
	}
	return out.String(), errOut.String(), nil
}

// shellTools returns a folder that holds kubectl and helm; helm is built on first use.
func (c *Cluster) shellTools(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	dir := filepath.Join(c.Dir, "run", "bin")
	if isThere(filepath.Join(dir, "helm")) {
		return dir, nil
	}
	paths, err := programs.Find(ctx, c.root, c.options.Progress, "kubectl")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	kubectl := filepath.Join(dir, "kubectl")
	if err := os.Symlink(paths["kubectl"], kubectl); err != nil && !os.IsExist(err) {
		return "", err
	}
	return dir, programs.BuildHelm(ctx, c.root, filepath.Join(dir, "helm"))
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
