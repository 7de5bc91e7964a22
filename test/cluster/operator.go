package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/controlee/controlee/test/cluster/programs"
)

// Operator says how to run the operator as a process.
type Operator struct {
	// Namespace is the system namespace: the release's.
	Namespace string
	// ServiceAccount is the one that the chart made.
	ServiceAccount string
	// PodName names the pod that the process is taken for; it is made if it is not there.
	PodName string
	// Binary is the operator's; default cmd/controlee, built on first use.
	Binary string
	// Server is the URL of the API server that it talks to; default [Cluster.APIServer].
	Server string
	// Args are added to the flags that the harness sets, and win over them.
	Args []string
	// Stderr gets the log as well as LogPath; may be nil.
	Stderr io.Writer
}

// OperatorProcess is a running operator. It acts with a token bound to its pod, as it would in a container.
type OperatorProcess struct {
	*Process
	// PodName and PodUID are what its token says.
	PodName, PodUID string
	// MetricsURL and ProbeURL are on loopback; MetricsURL is https unless --metrics-auth=false.
	MetricsURL, ProbeURL string
}

// StartOperator starts an operator; [OperatorProcess.Ready] tells when it serves. Start on the same Process, after it
// has ended, is a restart of the container in the same pod.
func (c *Cluster) StartOperator(ctx context.Context, o Operator) (*OperatorProcess, error) {
	pod, err := c.EnsurePod(ctx, o.Namespace, o.ServiceAccount, o.PodName)
	if err != nil {
		return nil, err
	}
	config, err := c.PodTokenConfig(ctx, o.Namespace, o.ServiceAccount, o.PodName)
	if err != nil {
		return nil, err
	}
	if o.Server != "" {
		config.Host = o.Server
	}
	name := c.operatorName(o.PodName)
	kubeconfig := filepath.Join(c.Dir, "run", name+".kubeconfig")
	if err := c.WriteKubeconfig(kubeconfig, config, o.Namespace); err != nil {
		return nil, err
	}
	if o.Binary == "" {
		if o.Binary, err = c.operatorBinary(ctx); err != nil {
			return nil, err
		}
	}
	metrics, err := freePort()
	if err != nil {
		return nil, err
	}
	probes, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &OperatorProcess{
		PodName:    pod.Name,
		PodUID:     string(pod.UID),
		MetricsURL: fmt.Sprintf("%s://127.0.0.1:%d/metrics", metricsScheme(o.Args), metrics),
		ProbeURL:   "http://127.0.0.1:" + strconv.Itoa(probes),
		Process: &Process{
			Name:    name,
			LogPath: filepath.Join(c.Dir, "logs", name+".log"),
			path:    o.Binary,
			dir:     c.Dir,
			tee:     o.Stderr,
		},
	}
	p.args = append([]string{
		"--kubeconfig=" + kubeconfig,
		"--metrics-bind-address=127.0.0.1:" + strconv.Itoa(metrics),
		"--health-probe-bind-address=127.0.0.1:" + strconv.Itoa(probes),
	}, o.Args...)
	p.env = append(os.Environ(), "POD_NAME="+pod.Name, "POD_NAMESPACE="+o.Namespace, "POD_UID="+p.PodUID)
	if err := p.Start(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.operators = append(c.operators, p)
	c.mu.Unlock()
	return p, nil
}

// Ready waits until the operator says that it is ready. It fails if the operator ends.
func (p *OperatorProcess) Ready(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{}, Timeout: 2 * time.Second}
	defer client.CloseIdleConnections()
	return until(ctx, p.Process, 2*time.Minute, func(ctx context.Context) error {
		return get(ctx, client, p.ProbeURL+"/readyz")
	})
}

// operatorName returns a name for files: the pod's, and a number if there was a process of that pod before.
func (c *Cluster) operatorName(podName string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := 0
	for _, o := range c.operators {
		if o.PodName == podName {
			before++
		}
	}
	if before > 0 {
		podName += "-" + strconv.Itoa(before+1)
	}
	return "operator-" + podName
}

func metricsScheme(args []string) string {
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasSuffix(arg, "-metrics-auth=false") }) {
		return "http"
	}
	return "https"
}

// operatorBinary builds cmd/controlee on first use, and keeps what it was then: a build by a later process of the same
// checkout does not change what this cluster runs.
func (c *Cluster) operatorBinary(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.operator != "" {
		return c.operator, nil
	}
	path := filepath.Join(c.Dir, "run", "controlee")
	if err := programs.BuildOperator(ctx, c.root, path); err != nil {
		return "", err
	}
	c.operator = path
	return path, nil
}
