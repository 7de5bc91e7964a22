package cluster

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/controlee/controlee/test/cluster/repo"
)

// Attach returns a Cluster for one that runs already, given its admin's client configuration: the chart can be installed
// there and operators run as processes of this machine. It starts no server. Of the options only Dir and Progress count.
//
// Nobody but the cluster's own authority signs certificates for it, so [Cluster.UserConfig] impersonates instead. Stop
// ends the operators and removes the files; what was made in the cluster stays.
func Attach(_ context.Context, admin *rest.Config, o Options) (*Cluster, error) {
	root, err := repo.Root()
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o, root: root, admin: rest.CopyConfig(admin)}
	c.admin.QPS = -1 // no limit, as in the clusters that Start starts
	if c.client, err = kubernetes.NewForConfig(c.admin); err != nil {
		return nil, err
	}
	version, err := c.client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", c.admin.Host, err)
	}
	c.Version = version.GitVersion
	if err := c.makeDir(o.Dir); err != nil {
		return nil, errors.Join(err, c.removeFiles())
	}
	return c, nil
}

// attached tells whether the cluster was not started by Start.
func (c *Cluster) attached() bool {
	return c.APIServer == nil
}

// impersonate returns the admin's client configuration in the guise of a user.
func (c *Cluster) impersonate(user string, groups ...string) *rest.Config {
	config := rest.CopyConfig(c.admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return config
}
