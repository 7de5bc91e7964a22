package apply

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// ownedFields gives the fields of live that manager owns by server-side apply, with the values that they have now.
// A field that somebody else changed is no longer the manager's, so it is missing: drift shows as a difference.
func ownedFields(live client.Object, manager string) (*unstructured.Unstructured, error) {
	if object, ok := live.(*unstructured.Unstructured); ok {
		return ownedUntyped(object, manager)
	}
	var config runtime.ApplyConfiguration
	var err error
	switch o := live.(type) {
	case *appsv1.Deployment:
		config, err = appsv1ac.ExtractDeployment(o, manager)
	case *autoscalingv2.HorizontalPodAutoscaler:
		config, err = autoscalingv2ac.ExtractHorizontalPodAutoscaler(o, manager)
	case *policyv1.PodDisruptionBudget:
		config, err = policyv1ac.ExtractPodDisruptionBudget(o, manager)
	case *corev1.Service:
		config, err = corev1ac.ExtractService(o, manager)
	default:
		return nil, fmt.Errorf("no way to tell which fields of a %T are whose: add its kind here", live)
	}
	if err != nil {
		return nil, err
	}
	return toUnstructured(config)
}

// ownedUntyped does the same for an object of a CRD whose types are not compiled in. Without a schema every list is taken for a whole,
// which fits all lists but that of the owner references: those stand as they are, since who controls an object is checked by itself.
func ownedUntyped(live *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	bare := live.DeepCopy()
	bare.SetOwnerReferences(nil)
	owned := map[string]any{}
	if err := managedfields.ExtractInto(bare, typed.DeducedParseableType, manager, &owned, ""); err != nil {
		return nil, err
	}
	config := &unstructured.Unstructured{Object: owned}
	config.SetGroupVersionKind(live.GroupVersionKind())
	config.SetNamespace(live.GetNamespace())
	config.SetName(live.GetName())
	config.SetOwnerReferences(live.GetOwnerReferences())
	return config, nil
}

// KeepManagedFields is a cache transform that keeps of an object's managed fields only what the named managers
// applied: Ensure needs these, and all others are a third of a cache's memory.
func KeepManagedFields(managers ...string) toolscache.TransformFunc {
	keep := make(map[string]bool, len(managers))
	for _, manager := range managers {
		keep[manager] = true
	}
	return func(in any) (any, error) {
		object, ok := in.(metav1.Object)
		if !ok || object.GetManagedFields() == nil {
			return in, nil // a tombstone, or nothing to strip
		}
		var kept []metav1.ManagedFieldsEntry
		for _, entry := range object.GetManagedFields() {
			if keep[entry.Manager] && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" {
				kept = append(kept, entry)
			}
		}
		object.SetManagedFields(kept)
		return in, nil
	}
}
