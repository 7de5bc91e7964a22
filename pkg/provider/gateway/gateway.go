package gateway

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/provider/service"
	"github.com/controlee/controlee/pkg/tenancy"
)

// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=gateway.networking.k8s.io,resources=httproutes;tcproutes;tlsroutes,verbs=get;list;watch;create;patch;delete

// Group is the API group of the Gateway API.
const Group = "gateway.networking.k8s.io"

// Provider makes a route for each Bar, and for a Deployment a Service that the route sends its traffic to.
type Provider struct{}

// Kinds are the kinds of route. What the provider writes of them is the same in each of these versions.
func (Provider) Kinds() []tenancy.LateKind {
	return []tenancy.LateKind{
		{GroupKind: kindOf(v1alpha1.HTTPRouteKind), Versions: []string{"v1", "v1beta1"}},
		{GroupKind: kindOf(v1alpha1.TCPRouteKind), Versions: []string{"v1", "v1alpha2"}},
		{GroupKind: kindOf(v1alpha1.TLSRouteKind), Versions: []string{"v1", "v1alpha3", "v1alpha2"}},
	}
}

// Needs is the kind of route that the class asks for.
func (Provider) Needs(class *v1alpha1.BarClass) []schema.GroupKind {
	return []schema.GroupKind{kindOf(settingsOf(class).RouteKind)}
}

// Desired gives the route, and before it the Service that it needs.
func (Provider) Desired(bar *v1alpha1.Bar, class *v1alpha1.BarClass) ([]provider.Object, error) {
	settings := settingsOf(class)
	port, err := portOf(bar, class)
	if err != nil {
		return nil, err
	}
	host, err := hostname(settings.HostnameTemplate, bar)
	if err != nil {
		return nil, err
	}
	if bar.Spec.SourceRef.Kind == v1alpha1.SourceService {
		return []provider.Object{route(bar, class, host, bar.Spec.SourceRef.Name, port)}, nil
	}
	config, err := service.New(bar, provider.Name(bar, class, "backend"))
	if err != nil {
		return nil, err
	}
	backend, err := provider.FromApply(config)
	if err != nil {
		return nil, err
	}
	return []provider.Object{backend, route(bar, class, host, backend.GetName(), port)}, nil
}

// route gives a new route for a new host name, Gateway or kind: the old one serves until the Gateway has taken the new one.
// It writes out what the API server would default: the defaults inside a list that is taken for a whole belong to who applied it.
func route(bar *v1alpha1.Bar, class *v1alpha1.BarClass, host, backend string, port *v1alpha1.BarPort) provider.Object {
	settings := settingsOf(class)
	parent := settings.ParentRef
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kindOf(settings.RouteKind).WithVersion("v1"))
	object.SetName(provider.Name(bar, class, string(settings.RouteKind), parent.Namespace, parent.Name, parent.SectionName, host))

	parentRef := map[string]any{"group": Group, "kind": "Gateway", "namespace": parent.Namespace, "name": parent.Name}
	if parent.SectionName != "" {
		parentRef["sectionName"] = parent.SectionName
	}
	rule := map[string]any{
		"backendRefs": []any{map[string]any{"group": "", "kind": "Service", "name": backend, "port": int64(port.Port), "weight": int64(1)}},
	}
	spec := map[string]any{"parentRefs": []any{parentRef}, "rules": []any{rule}}
	if settings.RouteKind == v1alpha1.HTTPRouteKind {
		rule["matches"] = []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}}
	}
	if host != "" {
		spec["hostnames"] = []any{host}
	}
	object.Object["spec"] = spec
	return provider.Object{Unstructured: object, Exclusive: exclusive(&settings, host)}
}

// exclusive is the host name, whatever the kind of route and the Gateway; without one the listener as a whole.
func exclusive(settings *v1alpha1.GatewayProviderSpec, host string) *provider.Exclusive {
	if host != "" {
		return &provider.Exclusive{
			Key:     hostnameKey(host),
			Name:    "host name " + host,
			Reason:  v1alpha1.ReasonHostnameTaken,
			Message: fmt.Sprintf("the host name %s belongs to another load balancer or route, which had it first: rename this object, or wait until it is free", host),
		}
	}
	parent := settings.ParentRef
	return &provider.Exclusive{
		Key:    listenerKey(parent),
		Name:   parentName(parent),
		Reason: v1alpha1.ReasonListenerTaken,
		Message: fmt.Sprintf("%s carries one route and belongs to another load balancer or route, which had it first: choose another class, or wait until it is free",
			parentName(parent)),
	}
}

// portOf picks the one port that a route can serve.
func portOf(bar *v1alpha1.Bar, class *v1alpha1.BarClass) (*v1alpha1.BarPort, error) {
	if len(bar.Spec.Ports) != 1 {
		return nil, provider.Refuse(v1alpha1.ReasonPortNotChosen, "BarClass %q serves one port and there are %d: set the annotation %s to the name or number of the one that is meant",
			class.Name, len(bar.Spec.Ports), v1alpha1.BarPortAnnotation)
	}
	port := &bar.Spec.Ports[0]
	if protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP); protocol != corev1.ProtocolTCP {
		return nil, provider.Refuse(v1alpha1.ReasonProtocolNotSupported, "BarClass %q carries TCP and port %d is %s: set the annotation %s to a TCP port, or choose another class",
			class.Name, port.Port, protocol, v1alpha1.BarPortAnnotation)
	}
	return port, nil
}

// settingsOf gives the class's settings with the API server's defaults.
func settingsOf(class *v1alpha1.BarClass) v1alpha1.GatewayProviderSpec {
	settings := ptr.Deref(class.Spec.Provider.Gateway, v1alpha1.GatewayProviderSpec{})
	settings.RouteKind = cmp.Or(settings.RouteKind, v1alpha1.HTTPRouteKind)
	return settings
}

func kindOf(route v1alpha1.RouteKind) schema.GroupKind {
	return schema.GroupKind{Group: Group, Kind: string(route)}
}

// parentName names a Gateway, and its listener if one is meant.
func parentName(parent v1alpha1.GatewayReference) string {
	if parent.SectionName == "" {
		return fmt.Sprintf("Gateway %s/%s", parent.Namespace, parent.Name)
	}
	return fmt.Sprintf("listener %s of Gateway %s/%s", parent.SectionName, parent.Namespace, parent.Name)
}
