package bar

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/retry"
)

// This file holds what a Bar's status becomes at each step, as pure functions.

// recorded is the first status of a new Bar.
func recorded(bar *v1alpha1.Bar) v1alpha1.BarStatus {
	return status(bar, v1alpha1.PhasePending, bar.Status.Targets, v1alpha1.ReasonRecorded, "the load balancer was asked for and is about to be made")
}

// provisioning is the status before objects are made.
func provisioning(bar *v1alpha1.Bar, targets []v1alpha1.BarTarget) v1alpha1.BarStatus {
	text := "the load balancer is being made"
	if kept(targets) {
		text += "; the old one answers until it is ready"
	}
	return status(bar, v1alpha1.PhaseProvisioning, targets, v1alpha1.ReasonProvisioning, text)
}

// releasing is the status of a Bar that is being taken away. left are the objects that were deleted
// and are still there, hindrances those that cannot be deleted now.
func releasing(bar *v1alpha1.Bar, targets []v1alpha1.BarTarget, left []client.Object, hindrances []hindrance) v1alpha1.BarStatus {
	reason, text := v1alpha1.ReasonReleasing, "the load balancer is being taken away"
	if len(left) > 0 {
		reason, text = v1alpha1.ReasonTerminating, "waiting for "+held(left)
	}
	if len(hindrances) > 0 {
		// These need somebody who acts, and so come first.
		reason = hindrances[0].Reason
		if len(left) > 0 {
			text = describe(hindrances) + "; and " + text
		} else {
			text = describe(hindrances)
		}
	}
	result := status(bar, v1alpha1.PhaseReleasing, targets, reason, text)
	result.Addresses = nil
	return result
}

// held names objects that are being deleted, and what holds them.
func held(objects []client.Object) string {
	texts := make([]string, len(objects))
	for i, object := range objects {
		texts[i] = object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName() + ", which is " + holder(object)
	}
	return strings.Join(texts, ", and for ")
}

// holder says what an object that is being deleted waits for.
func holder(object metav1.Object) string {
	finalizers := object.GetFinalizers()
	switch len(finalizers) {
	case 0:
		return "being deleted"
	case 1:
		return "held by finalizer " + finalizers[0]
	default:
		return "held by finalizers " + strings.Join(finalizers, " and ")
	}
}

// concluded is the status after an attempt, which came to an observation or to a refusal. parts are
// what is wanted, nil if that is not known.
func concluded(bar *v1alpha1.Bar, targets []v1alpha1.BarTarget, parts []part, seen provider.Observation, refused *retry.Refusal) v1alpha1.BarStatus {
	switch {
	case refused != nil:
		// What exists stays, and answers as it did.
		return status(bar, v1alpha1.PhaseFailed, targets, refused.Reason, refused.Message)
	case !seen.Ready:
		result := status(bar, v1alpha1.PhaseProvisioning, targets, seen.Reason, seen.Message)
		if len(keptBeside(targets, parts)) == 0 {
			result.Addresses = seen.Addresses
		}
		return result
	default:
		result := status(bar, v1alpha1.PhaseReady, serving(targets, parts), seen.Reason, seen.Message)
		result.Addresses = seen.Addresses
		return result
	}
}

// status changes the phase, the targets and the condition, and keeps the rest.
func status(bar *v1alpha1.Bar, phase v1alpha1.BarPhase, targets []v1alpha1.BarTarget, reason, text string) v1alpha1.BarStatus {
	result := *bar.Status.DeepCopy()
	result.ObservedGeneration = bar.Generation
	result.Phase = phase
	result.Targets = targets
	ready := metav1.ConditionFalse
	switch {
	case phase == v1alpha1.PhaseReady:
		ready = metav1.ConditionTrue
	case reason == v1alpha1.ReasonNamespaceLost:
		ready = metav1.ConditionUnknown // nobody can see it
	}
	meta.SetStatusCondition(&result.Conditions, metav1.Condition{
		Type: v1alpha1.BarReady, Status: ready, Reason: reason, Message: message.Shorten(text, message.MaxCondition), ObservedGeneration: bar.Generation,
	})
	return result
}

// kept says whether some of the targets have served and are not being deleted.
func kept(targets []v1alpha1.BarTarget) bool {
	return slices.ContainsFunc(targets, func(target v1alpha1.BarTarget) bool {
		return target.Serving && target.State != v1alpha1.TargetDeleting
	})
}

// keptBeside are the targets that have served and are kept until the wanted ones are ready.
func keptBeside(targets []v1alpha1.BarTarget, parts []part) []v1alpha1.BarTarget {
	return slices.DeleteFunc(superseded(targets, parts, true), func(target v1alpha1.BarTarget) bool { return !target.Serving })
}

// terminating says that an object of the wanted name must be gone before a new one can be made.
func terminating(p *part) provider.Observation {
	return provider.Observation{
		Reason:  v1alpha1.ReasonTerminating,
		Message: fmt.Sprintf("waiting until the old %s %s is gone, which is %s", p.Object.GetKind(), p.Object.GetName(), holder(p.live)),
	}
}
