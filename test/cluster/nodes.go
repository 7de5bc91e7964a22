package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NeverReadyImage is the image of containers that pretend nodes never start.
const NeverReadyImage = "controlee.invalid/never-ready"

//go:embed kwok.yaml
var kwokConfiguration []byte

const schedulerConfiguration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: 1000, burst: 2000}
`

// startNodes starts the scheduler and kwok, which plays the kubelets of all nodes, and makes the nodes.
func (c *Cluster) startNodes(ctx context.Context, count int) error {
	kubeconfig, err := c.componentKubeconfig("kube-scheduler", "system:kube-scheduler")
	if err != nil {
		return err
	}
	configuration, err := c.file("run/kube-scheduler.yaml", fmt.Appendf(nil, schedulerConfiguration, kubeconfig))
	if err != nil {
		return err
	}
	c.Scheduler = c.newProcess("kube-scheduler", "kube-scheduler", "--config="+configuration, "--secure-port=0")
	if err := c.Scheduler.Start(); err != nil {
		return err
	}

	if kubeconfig, err = c.componentKubeconfig("kwok", "controlee-test-kwok", "system:masters"); err != nil {
		return err
	}
	if configuration, err = c.file("run/kwok.yaml", kwokConfiguration); err != nil {
		return err
	}
	c.Kwok = c.newProcess("kwok", "kwok", "--kubeconfig="+kubeconfig, "--config="+configuration)
	// Otherwise it would read the configuration in the user's home too.
	c.Kwok.env = append(os.Environ(), "KWOK_WORKDIR="+filepath.Join(c.Dir, "run", "kwok"))
	if err := c.Kwok.Start(); err != nil {
		return err
	}

	for i := range count {
		if _, err := c.client.CoreV1().Nodes().Create(ctx, pretendNode(i), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create a node: %w", err)
		}
	}
	return nil
}

// pretendNode describes a node; nodes are spread over three zones.
func pretendNode(i int) *corev1.Node {
	name := "node-" + strconv.Itoa(i+1)
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		Labels: map[string]string{
			corev1.LabelHostname:     name,
			corev1.LabelOSStable:     "linux",
			corev1.LabelArchStable:   "amd64",
			corev1.LabelTopologyZone: "zone-" + strconv.Itoa(i%3+1),
		},
	}}
}

// nodesReady waits until pods can be scheduled on every node.
func (c *Cluster) nodesReady(ctx context.Context) error {
	return until(ctx, c.Kwok, time.Minute, c.checkNodes)
}

// checkNodes returns an error until every node is ready and the controller manager has taken off the taint for it.
func (c *Cluster) checkNodes(ctx context.Context) error {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		ready := slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		})
		if !ready || len(node.Spec.Taints) > 0 {
			return fmt.Errorf("node %s is not ready, or has taints: %v", node.Name, node.Spec.Taints)
		}
	}
	return nil
}
