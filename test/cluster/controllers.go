package cluster

import (
	"context"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startControllerManager starts kube-controller-manager, each controller with a ServiceAccount of its own as in a
// cluster made by kubeadm, so that admission policies can tell the garbage collector from a user.
func (c *Cluster) startControllerManager() error {
	kubeconfig, err := c.componentKubeconfig("kube-controller-manager", "system:kube-controller-manager")
	if err != nil {
		return err
	}
	c.ControllerManager = c.newProcess("kube-controller-manager", "kube-controller-manager",
		"--kubeconfig="+kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+filepath.Join(c.Dir, "pki", "service-account.key"),
		"--root-ca-file="+filepath.Join(c.Dir, "pki", "ca.crt"),
		// Tests make more objects in a second than clusters do.
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--concurrent-deployment-syncs=20",
		"--concurrent-replicaset-syncs=20",
		"--concurrent-service-endpoint-syncs=10",
	)
	return c.ControllerManager.Start()
}

// controllersReady waits for what a pod that names no ServiceAccount needs to be admitted.
func (c *Cluster) controllersReady(ctx context.Context) error {
	return until(ctx, c.ControllerManager, time.Minute, func(ctx context.Context) error {
		_, err := c.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// componentKubeconfig writes the kubeconfig of a part of the control plane.
func (c *Cluster) componentKubeconfig(component, user string, groups ...string) (string, error) {
	config, err := c.UserConfig(user, groups...)
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.Dir, "pki", component+".kubeconfig")
	return path, c.WriteKubeconfig(path, config, "")
}
