package bar

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
)

// Reasons of Events that say what the controller did.
const (
	eventCreated = "Created"
	eventUpdated = "Updated"
	eventDeleted = "Deleted"
)

// tell tells the Bar what was done with one of its objects.
func (w *work) tell(reason, kind, name string) {
	w.Recorder.Eventf(w.bar, nil, corev1.EventTypeNormal, reason, reason+kind, "%s %s %s", reason, kind, name)
}

// announce tells of a phase that has changed, and of another reason why a Bar failed.
func (w *work) announce(before, after *v1alpha1.Bar) {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.BarReady)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.BarReady)
	if is == nil || (before.Status.Phase == after.Status.Phase && was != nil && was.Reason == is.Reason) {
		return
	}
	kind := corev1.EventTypeNormal
	switch after.Status.Phase {
	case v1alpha1.PhaseReady:
	case v1alpha1.PhaseFailed:
		kind = corev1.EventTypeWarning
	case v1alpha1.PhaseReleasing:
		if is.Reason != v1alpha1.ReasonNamespaceLost || was != nil && was.Reason == is.Reason {
			return
		}
		kind = corev1.EventTypeWarning
	default:
		return
	}
	w.Recorder.Eventf(after, nil, kind, is.Reason, "Report", "%s", message.Shorten(is.Message, message.MaxEventNote))
}
