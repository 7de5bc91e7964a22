package claim

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
	"github.com/controlee/controlee/pkg/retry"
)

// report tells a source what becomes of its load balancer, wherever that differs from what it says now. What cannot be written on the
// source, as where its annotations are full, an Event says; then told is false.
func (r *Reconciler) report(ctx context.Context, source client.Object, answer Answer) (told bool, err error) {
	told, err = r.note(ctx, source, answer)
	if err != nil {
		return false, err
	}
	return told, r.reportIngress(ctx, source, answer)
}

// note writes the annotations of a source.
func (r *Reconciler) note(ctx context.Context, source client.Object, answer Answer) (bool, error) {
	present := source.GetAnnotations()
	before := news{state: present[v1alpha1.BarStateAnnotation], address: present[v1alpha1.BarAddressAnnotation]}
	after := news{state: answer.State(), address: answer.Address()}
	changed, err := r.writer.Annotate(ctx, source, map[string]string{
		v1alpha1.BarStateAnnotation: after.state, v1alpha1.BarAddressAnnotation: after.address,
	})
	if retry.IsRefusal(err) {
		r.recorder.Eventf(source, nil, corev1.EventTypeWarning, eventFailed, "Annotate", "%s", message.Shorten(untold(after, err), message.MaxEventNote))
		// Rather no answer than an old one: the address may be another tenant's by now.
		_, err = r.writer.Annotate(ctx, source, map[string]string{v1alpha1.BarStateAnnotation: "", v1alpha1.BarAddressAnnotation: ""})
		if retry.IsRefusal(err) {
			err = nil
		}
		return false, err
	}
	if err != nil {
		return false, err
	}
	if changed {
		r.announce(source, before, after)
	}
	return true, nil
}

// untold says that a source cannot be told its news, and why.
func untold(n news, err error) string {
	why := err.Error()
	if apierrors.IsInvalid(err) && strings.Contains(why, "metadata.annotations: Too long") {
		why = "make room in metadata.annotations, which are full"
	}
	return fmt.Sprintf("%s cannot be written: %s. It would be: %s", v1alpha1.BarStateAnnotation,
		message.Shorten(why, message.MaxEventNote/2), cmp.Or(n.state, "nothing"))
}

// reportIngress writes the status of a Service whose class is a BarClass.
func (r *Reconciler) reportIngress(ctx context.Context, source client.Object, answer Answer) error {
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
