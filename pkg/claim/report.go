package claim

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// report tells a source what becomes of its load balancer, wherever that differs from what it says now.
func (r *Reconciler) report(ctx context.Context, source client.Object, answer Answer) error {
	told := source.GetAnnotations()
	before := news{state: told[v1alpha1.BarStateAnnotation], address: told[v1alpha1.BarAddressAnnotation]}
	after := news{state: answer.State(), address: answer.Address()}
	changed, err := r.writer.Annotate(ctx, source, map[string]string{
		v1alpha1.BarStateAnnotation: after.state, v1alpha1.BarAddressAnnotation: after.address,
	})
	if err != nil {
		return err
	}
	if changed {
		r.announce(source, before, after)
	}
	service, ok := source.(*corev1.Service)
	if !ok || isBarObject(service) || loadBalancerClass(service) == "" {
		return nil // the status of other Services is other controllers'
	}
	ingress := answer.ingress()
	if equality.Semantic.DeepEqual(service.Status.LoadBalancer.Ingress, ingress) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": service.UID},
		"status":   map[string]any{"loadBalancer": map[string]any{"ingress": ingress}},
	})
	if err != nil {
		return err
	}
	return r.direct.Status().Patch(ctx, service, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldManager))
}
