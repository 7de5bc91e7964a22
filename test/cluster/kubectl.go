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

// Kubectl runs kubectl of the cluster's version with a kubeconfig file, see [Cluster.WriteKubeconfig]. Without a path it
// is the admin's.
func (c *Cluster) Kubectl(ctx context.Context, kubeconfigPath string, args ...string) (stdout, stderr string, err error) {
	paths, err := programs.Find(ctx, c.root, c.options.Progress, "kubectl")
	if err != nil {
		return "", "", err
	}
	if kubeconfigPath == "" {
		if kubeconfigPath, err = c.AdminKubeconfig(); err != nil {
			return "", "", err
		}
	}
	cmd := exec.CommandContext(ctx, paths["kubectl"], args...) //nolint:gosec // G204: running what the test says is the purpose
	// No setting of the user's, and no answer of an earlier cluster at the same address, may change what a test sees.
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+kubeconfigPath, "KUBECTL_KUBERC=false", "KUBECACHEDIR="+filepath.Join(c.Dir, "run", "kubectl"))
	cmd.WaitDelay = time.Second
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), errOut.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errOut.String()))
	}
	return out.String(), errOut.String(), nil
}
