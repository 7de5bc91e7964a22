package bar

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
	"github.com/controlee/controlee/pkg/retry"
)

// hindrance says why a target that is no longer wanted cannot be deleted now.
type hindrance struct {
	target v1alpha1.BarTarget
	retry.Refusal
}

// denied returns an error if the operator lacks the rights on the kind of a target in the Bar's
// namespace: it cannot see whether the object exists.
func (w *work) denied(target *v1alpha1.BarTarget) error {
	if w.namespace == nil {
		return nil
	}
	return w.namespace.Denied(schema.GroupKind{Group: target.APIGroup, Kind: target.Kind})
}

// hindrances returns the recorded targets whose deletion was begun, or is due, and for which the
// operator lacks the rights.
func (w *work) hindrances(due []v1alpha1.BarTarget) (found []hindrance) {
	for i := range w.next.Targets {
		target := &w.next.Targets[i]
		if target.State != v1alpha1.TargetDeleting && find(due, keyOf(target)) == nil {
			continue
		}
		if err := w.denied(target); err != nil {
			found = append(found, hindrance{*target, retry.Refusal{Reason: v1alpha1.ReasonAccessDenied, Message: err.Error(), After: retry.AfterRefusal}})
		}
	}
	return found
}

// refusalToDelete is refusalOf for a Bar that is released: such a Bar has nothing else to report.
// The condition of any other Bar reports on the load balancer that is wanted, so there a refusal
// stays an error.
func (w *work) refusalToDelete(err error) (*retry.Refusal, error) {
	if !w.bar.Spec.Release {
		return nil, err
	}
	return refusalOf(err)
}

// describe names what cannot be deleted, and why.
func describe(hindrances []hindrance) string {
	texts := make([]string, len(hindrances))
	for i := range hindrances {
		h := &hindrances[i]
		texts[i] = h.target.Kind + " " + h.target.Name + " cannot be deleted: " + h.Message
	}
	return strings.Join(texts, "; and ")
}

// hindered adds to the message of the condition Ready what cannot be deleted. The rest of the
// condition stays: it is about the load balancer that is wanted.
func hindered(result v1alpha1.BarStatus, hindrances []hindrance) v1alpha1.BarStatus {
	ready := meta.FindStatusCondition(result.Conditions, v1alpha1.BarReady)
	if len(hindrances) == 0 || ready == nil {
		return result
	}
	ready.Message = message.Shorten(ready.Message+"; "+describe(hindrances), message.MaxCondition)
	return result
}
