package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/controlee/controlee/test/cluster/programs"
	"github.com/controlee/controlee/test/cluster/repo"
)

// Options say what to start. The zero value is etcd and kube-apiserver.
type Options struct {
	// ControllerManager starts kube-controller-manager: Deployments get ReplicaSets, garbage is collected, namespaces
	// can be deleted and have a default ServiceAccount.
	ControllerManager bool
	// Nodes is how many nodes there are to be that pretend to run pods. They bring kube-scheduler and kwok, and need
	// ControllerManager.
	Nodes int
	// AuditLog makes the API servers log each request, see [Cluster.AuditEvents].
	AuditLog bool
	// AuditResponses adds to the log what the answers to writes were.
	AuditResponses bool
	// Progress is told when the programs are built first; default os.Stderr.
	Progress io.Writer
	// Dir is the folder for data, keys and logs; default a new one. Stop removes it, or, if it was there before, what
	// the cluster put into it.
	Dir string
}

// Cluster is a running control plane.
type Cluster struct {
	// Dir holds data, keys and logs until Stop.
	Dir string
	// Version is Kubernetes', such as v1.37.2.
	Version string
	// AuditLogPath is the audit log of APIServer, if Options.AuditLog was set.
	AuditLogPath string

	// Etcd is the store of all API servers.
	Etcd *Process
	// APIServer is the API server that everything here talks to.
	APIServer *APIServer
	// ControllerManager, Scheduler and Kwok are nil if they were not asked for.
	ControllerManager, Scheduler, Kwok *Process

	options   Options
	root      string
	programs  programs.Paths
	authority *authority
	etcdURL   string
	admin     *rest.Config
	client    kubernetes.Interface

	mu         sync.Mutex
	apiServers []*APIServer
	operators  []*OperatorProcess
	operator   string // the binary, once it is built
	stopped    bool
	remove     []string
}

// Start starts a control plane and returns when it serves; with nodes, when pods can be scheduled on them. If the
// programs were never built on this machine, it builds them first, which takes minutes.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start a test cluster: %w", err), c.end())
	}
	return c, nil
}

// prepare finds the programs and lays out the folder.
func prepare(ctx context.Context, o Options) (*Cluster, error) {
	if o.Nodes > 0 && !o.ControllerManager {
		return nil, errors.New("nodes need the controller manager: without it no pod is made for them and no taint is taken off")
	}
	root, err := repo.Root()
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o, root: root}
	if c.Version, err = programs.Version(root); err != nil {
		return nil, err
	}
	names := []string{"etcd", "kube-apiserver"}
	if o.ControllerManager {
		names = append(names, "kube-controller-manager")
	}
	if o.Nodes > 0 {
		names = append(names, "kube-scheduler", "kwok")
	}
	if c.programs, err = programs.Find(ctx, root, o.Progress, names...); err != nil {
		return nil, err
	}
	if c.authority, err = newAuthority(); err != nil {
		return nil, err
	}
	if err := c.makeDir(o.Dir); err != nil {
		return nil, errors.Join(err, c.removeFiles())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	var err error
	if c.Etcd, err = c.startEtcd(ctx); err != nil {
		return err
	}
	if c.APIServer, err = c.AddAPIServer(ctx); err != nil {
		return err
	}
	c.AuditLogPath = c.APIServer.AuditLogPath
	if c.admin, err = c.UserConfig("controlee-test-admin", "system:masters"); err != nil {
		return err
	}
	if c.client, err = kubernetes.NewForConfig(c.admin); err != nil {
		return err
	}
	return c.startControllers(ctx)
}

// startControllers starts what was asked for beside the API server, at the same time, and waits for it.
func (c *Cluster) startControllers(ctx context.Context) error {
	if !c.options.ControllerManager {
		return nil
	}
	if err := c.startControllerManager(); err != nil {
		return err
	}
	if c.options.Nodes == 0 {
		return c.controllersReady(ctx)
	}
	if err := c.startNodes(ctx, c.options.Nodes); err != nil {
		return err
	}
	if err := c.controllersReady(ctx); err != nil {
		return err
	}
	return c.nodesReady(ctx)
}

// Died returns an error with the end of the log of each server that ended without being told to.
func (c *Cluster) Died() error {
	var all []error
	for _, p := range c.servers() {
		all = append(all, p.Died())
	}
	return errors.Join(all...)
}

// Stop ends every process and removes every file of the cluster. It returns an error if a server had ended by itself
// before, or something is left. Later calls do nothing.
func (c *Cluster) Stop() error {
	died := c.Died()
	c.mu.Lock()
	stopped := c.stopped
	c.stopped = true
	c.mu.Unlock()
	if stopped {
		return nil
	}
	return errors.Join(died, c.end())
}

// end stops all processes, those that need another one first, and removes the files.
func (c *Cluster) end() error {
	c.mu.Lock()
	var operators, apiServers []*Process
	for _, o := range c.operators {
		operators = append(operators, o.Process)
	}
	for _, s := range c.apiServers {
		apiServers = append(apiServers, s.Process)
	}
	c.mu.Unlock()
	stopAll(operators...)
	stopAll(c.Kwok, c.Scheduler, c.ControllerManager)
	stopAll(apiServers...)
	stopAll(c.Etcd)
	return c.removeFiles()
}

// stopAll stops processes at the same time. How they end does not matter any more: what has to be said about it, Died
// has said before.
func stopAll(processes ...*Process) {
	var all sync.WaitGroup
	for _, p := range processes {
		if p != nil {
			all.Go(func() { p.Stop() }) //nolint:errcheck // see above
		}
	}
	all.Wait()
}

// servers returns those that were started.
func (c *Cluster) servers() []*Process {
	var all []*Process
	c.mu.Lock()
	for _, s := range c.apiServers {
		all = append(all, s.Process)
	}
	c.mu.Unlock()
	for _, p := range []*Process{c.Etcd, c.ControllerManager, c.Scheduler, c.Kwok} {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// newProcess describes a server; it is not started.
func (c *Cluster) newProcess(program, name string, args ...string) *Process {
	return &Process{
		Name:    name,
		LogPath: filepath.Join(c.Dir, "logs", name+".log"),
		path:    c.programs[program],
		args:    args,
		dir:     c.Dir,
	}
}

// until calls ready every few milliseconds until it returns nil. It gives up when the process ends, the context does, or
// the time is over, and then returns the last error and the end of the process's log.
func until(ctx context.Context, p *Process, limit time.Duration, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			if died := p.Died(); died != nil {
				return died
			}
			return fmt.Errorf("%s was stopped", p.Name)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %s: %w; the end of its log:\n%s", p.Name, limit, err, p.LogTail(30))
		case <-time.After(30 * time.Millisecond):
		}
	}
}
