package cluster

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// helmGetter hands Helm a client configuration, where its command line would read a kubeconfig file.
type helmGetter struct {
	config    *rest.Config
	namespace string
}

func newHelmGetter(config *rest.Config, namespace string) *helmGetter {
	return &helmGetter{config: config, namespace: namespace}
}

// ToRESTConfig returns a copy, since Helm's client changes it.
func (g *helmGetter) ToRESTConfig() (*rest.Config, error) {
	return rest.CopyConfig(g.config), nil
}

// ToDiscoveryClient returns a client that asks once.
func (g *helmGetter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	client, err := discovery.NewDiscoveryClientForConfig(g.config)
	if err != nil {
		return nil, err
	}
	return memory.NewMemCacheClient(client), nil
}

// ToRESTMapper returns a mapper that asks again for a kind that it does not know, such as that of a CRD just made.
func (g *helmGetter) ToRESTMapper() (meta.RESTMapper, error) {
	client, err := g.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	return restmapper.NewDeferredDiscoveryRESTMapper(client), nil
}

// ToRawKubeConfigLoader says which namespace is meant where none is given.
func (g *helmGetter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(kubeconfig(g.config, g.namespace), &clientcmd.ConfigOverrides{})
}
