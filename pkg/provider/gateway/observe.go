package gateway

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
)

// Condition types of a route's parent, as the Gateway API defines them.
const (
	accepted     = "Accepted"
	resolvedRefs = "ResolvedRefs"
)

// parentStatus is what a Gateway's controller says of a route, as far as it is read.
type parentStatus struct {
	ParentRef struct {
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		SectionName string `json:"sectionName"`
	} `json:"parentRef"`
	Conditions []metav1.Condition `json:"conditions"`
}

// Observe tells whether the Gateway has taken the route, and can reach what is behind it.
func (Provider) Observe(bar *v1alpha1.Bar, class *v1alpha1.BarClass, live []client.Object) provider.Observation {
	settings := settingsOf(class)
	where := parentName(settings.ParentRef)
	route := live[len(live)-1]
	conditions := conditionsOf(route, settings.ParentRef)

	taken := latest(conditions, accepted, route.GetGeneration())
	resolved := latest(conditions, resolvedRefs, route.GetGeneration())
	switch {
	case taken == nil:
		return provider.Observation{Reason: v1alpha1.ReasonRoutePending, Message: fmt.Sprintf("waiting for the controller of %s to take the route", where)}
	case taken.Status != metav1.ConditionTrue:
		return provider.Observation{Reason: v1alpha1.ReasonRouteNotAccepted, Message: fmt.Sprintf("%s does not take the route: %s: %s", where, taken.Reason, taken.Message)}
	case resolved != nil && resolved.Status != metav1.ConditionTrue:
		return provider.Observation{Reason: v1alpha1.ReasonBackendNotResolved, Message: fmt.Sprintf("%s cannot send traffic on: %s: %s", where, resolved.Reason, resolved.Message)}
	}
	ready := provider.Observation{Ready: true, Reason: v1alpha1.ReasonProvisioned, Message: where + " serves the route"}
	// The template was checked when the route was made.
	if host, err := hostname(settings.HostnameTemplate, bar); err == nil && host != "" {
		ready.Addresses = []v1alpha1.BarAddress{{Type: v1alpha1.HostnameAddressType, Value: host}}
	} else {
		ready.Message += "; its address is the Gateway's, which the platform knows"
	}
	return ready
}

// conditionsOf gives the conditions that controllers have written for one parent of a route.
func conditionsOf(route client.Object, parent v1alpha1.GatewayReference) (conditions []metav1.Condition) {
	object, ok := route.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	parents, _, err := unstructured.NestedSlice(object.Object, "status", "parents")
	if err != nil {
		return nil // no controller has written it yet, or none that keeps to the API
	}
	for _, entry := range parents {
		content, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		status := parentStatus{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &status); err != nil {
			continue // as above
		}
		ref := status.ParentRef
		if ref.Namespace == "" {
			ref.Namespace = route.GetNamespace()
		}
		if ref.Namespace == parent.Namespace && ref.Name == parent.Name && ref.SectionName == parent.SectionName {
			conditions = append(conditions, status.Conditions...)
		}
	}
	return conditions
}

// latest finds a condition that speaks of the present generation, or does not say of which. Where two controllers disagree about one parent, the one that serves it counts.
func latest(conditions []metav1.Condition, kind string, generation int64) (found *metav1.Condition) {
	for i := range conditions {
		condition := &conditions[i]
		stale := condition.ObservedGeneration != 0 && condition.ObservedGeneration < generation
		if condition.Type != kind || stale {
			continue
		}
		if found == nil || condition.Status == metav1.ConditionTrue {
			found = condition
		}
	}
	return found
}
