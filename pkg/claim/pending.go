package claim

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
)

// pending is a release that waits for the end of the grace period.
type pending struct {
	reason   string // of the condition ReleasePending
	deadline time.Time
	left     time.Duration // until the deadline
}

// message says when the Bar will be released, and what keeps it.
func (p *pending) message(bar *v1alpha1.Bar) string {
	at := p.deadline.UTC().Format(time.RFC3339)
	if p.reason == v1alpha1.ReasonClassNotAllowed {
		return fmt.Sprintf("your team may no longer use BarClass %q: the load balancer will be released at %s. "+
			"To keep it, ask your platform admin to allow the class again, or ask for another BarClass before that",
			bar.Spec.ClassName, at)
	}
	if p.reason == v1alpha1.ReasonUnsupportedSource {
		return fmt.Sprintf("a Service of type ExternalName has no Pods: the load balancer will be released at %s. "+
			"To keep it and its address, make the Service one of type ClusterIP again before that", at)
	}
	return fmt.Sprintf("no load balancer is asked for any more: this one will be released at %s. To keep it and its address, ask for BarClass %q again before that",
		at, bar.Spec.ClassName)
}

// answer is what the source is told during the grace period.
func (p *pending) answer(bar *v1alpha1.Bar) *refusal {
	word := v1alpha1.ReasonReleasePending
	if p.reason != v1alpha1.ReasonOptedOut {
		word = p.reason
	}
	return &refusal{reason: word, message: p.message(bar)}
}

// setPending writes the condition ReleasePending of a Bar, or removes it (nil), where that differs
// from what the Bar has. It returns the Bar as it is then.
func (r *Reconciler) setPending(ctx context.Context, bar *v1alpha1.Bar, p *pending) (*v1alpha1.Bar, error) {
	changed := bar.DeepCopy()
	if p == nil {
		meta.RemoveStatusCondition(&changed.Status.Conditions, v1alpha1.BarReleasePending)
	} else {
		meta.SetStatusCondition(&changed.Status.Conditions, metav1.Condition{
			Type: v1alpha1.BarReleasePending, Status: metav1.ConditionTrue, Reason: p.reason,
			Message: message.Shorten(p.message(bar), message.MaxCondition), ObservedGeneration: bar.Generation,
		})
	}
	if equality.Semantic.DeepEqual(changed.Status, bar.Status) {
		return bar, nil
	}
	// With the resource version, because the conditions are written as a whole, and others are the
	// Bar controller's.
	patch := client.MergeFromWithOptions(bar, client.MergeFromWithOptimisticLock{})
	return changed, r.direct.Status().Patch(ctx, changed, patch, client.FieldOwner(FieldManager))
}

// gracePeriod returns the grace period of the BarClass that a Bar has.
func (r *Reconciler) gracePeriod(ctx context.Context, bar *v1alpha1.Bar) (time.Duration, error) {
	class := &v1alpha1.BarClass{}
	err := r.cached.Get(ctx, client.ObjectKey{Name: bar.Spec.ClassName}, class)
	if client.IgnoreNotFound(err) != nil {
		return 0, err
	}
	if err != nil {
		class = nil
	}
	return class.ReleaseGracePeriod(), nil
}
