package gateway

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// Uses returns the host names of an HTTPRoute or TLSRoute, and the listeners of a TCPRoute.
//
// A wildcard such as *.apps.example.com is not among them: by the Gateway API the route with the
// longer match serves a host name, so the wildcard takes nothing from a route that names the host.
// If it counted, one tenant could block the host names of all others with one route.
func (Provider) Uses(object *unstructured.Unstructured) (keys []string) {
	if object.GroupVersionKind().Group != Group {
		return nil
	}
	switch v1alpha1.RouteKind(object.GetKind()) {
	case v1alpha1.HTTPRouteKind, v1alpha1.TLSRouteKind:
		hosts, _, err := unstructured.NestedStringSlice(object.Object, "spec", "hostnames")
		if err != nil {
			return nil
		}
		for _, host := range hosts {
			if !strings.HasPrefix(host, "*") {
				keys = append(keys, hostnameKey(strings.ToLower(host)))
			}
		}
	case v1alpha1.TCPRouteKind:
		for _, ref := range decode[parentRef](object, "spec", "parentRefs") {
			ref = ref.withDefaults(object.GetNamespace())
			if ref.Group == Group && ref.Kind == "Gateway" {
				keys = append(keys, listenerKey(v1alpha1.GatewayReference{Namespace: ref.Namespace, Name: ref.Name, SectionName: ref.SectionName}))
			}
		}
	}
	return keys
}

func hostnameKey(host string) string { return "hostname/" + host }

func listenerKey(parent v1alpha1.GatewayReference) string {
	return fmt.Sprintf("listener/%s/%s/%s", parent.Namespace, parent.Name, parent.SectionName)
}
