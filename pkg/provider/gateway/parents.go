package gateway

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// parentRef is a reference of a route to what it attaches to, with the defaults of the Gateway API.
type parentRef struct {
	Group       string `json:"group"`
	Kind        string `json:"kind"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	SectionName string `json:"sectionName"`
	Port        int64  `json:"port"`
}

// withDefaults completes a reference that stands in a route of the given namespace.
func (p parentRef) withDefaults(namespace string) parentRef {
	p.Group, p.Kind, p.Namespace = cmp.Or(p.Group, Group), cmp.Or(p.Kind, "Gateway"), cmp.Or(p.Namespace, namespace)
	return p
}

// parentOf is the reference of a class's routes.
func parentOf(parent v1alpha1.GatewayReference) parentRef {
	return parentRef{Group: Group, Kind: "Gateway", Namespace: parent.Namespace, Name: parent.Name, SectionName: parent.SectionName}
}

// decode converts the list of an unstructured object into values of a type, and leaves out what
// does not fit: the API server checks a route against its CRD, whose schema can be of another
// version.
func decode[T any](object client.Object, fields ...string) (values []T) {
	content, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	entries, _, err := unstructured.NestedSlice(content.Object, fields...)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		fields, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		var value T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &value); err == nil {
			values = append(values, value)
		}
	}
	return values
}
