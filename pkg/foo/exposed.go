package foo

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/claim"
	"github.com/controlee/controlee/pkg/retry"
)

// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=bars,verbs=list;watch

// exposure is how a Foo is exposed.
type exposure struct {
	condition metav1.Condition
	address   string
}

// exposed finds out how a Foo is exposed: nil for one that neither asks for a load balancer nor
// waits until one is gone.
func (r *Reconciler) exposed(ctx context.Context, foo *v1alpha1.Foo, deployment *appsv1.Deployment, refusal *retry.Refusal) (*exposure, error) {
	bar := &v1alpha1.Bar{}
	name := claim.BarName(v1alpha1.SourceDeployment, foo.Namespace, foo.Name)
	err := r.Cache.Get(ctx, client.ObjectKey{Namespace: r.SystemNamespace, Name: name}, bar)
	return desireExposure(foo, deployment, bar, refusal), client.IgnoreNotFound(err)
}

// desireExposure says how a Foo is exposed, given its Deployment, the Bar of that name (zero: none)
// and what the API server refused (nil: nothing). What the Deployment's annotation says counts only
// as an excuse: a tenant can write it, too.
func desireExposure(foo *v1alpha1.Foo, deployment *appsv1.Deployment, bar *v1alpha1.Bar, refusal *retry.Refusal) *exposure {
	controlled := metav1.IsControlledBy(deployment, foo)
	if foo.Spec.Bar == nil {
		if !controlled {
			return nil
		}
		return unwanted(deployment, bar)
	}
	class := foo.Spec.Bar.ClassName
	result := notExposed(v1alpha1.ReasonBarPending, fmt.Sprintf("waiting for a load balancer of BarClass %q", class))
	if cause := obstacle(foo, deployment, refusal); cause != nil {
		result = cause
	} else if reason, message, refused := claim.Refusal(deployment.Annotations[v1alpha1.BarStateAnnotation]); controlled && refused {
		result = notExposed(reason, message)
	}
	if !controlled {
		return result
	}
	if bar.Spec.SourceRef.UID != deployment.UID || bar.Spec.Release {
		if held := heldBack(bar); held != "" && result.condition.Reason == v1alpha1.ReasonBarPending {
			return notExposed(v1alpha1.ReasonTerminating, "the earlier load balancer has to be gone before the next one is made: "+held)
		}
		return result
	}
	answer := claim.AnswerOf(bar)
	if len(answer.Addresses) > 0 {
		result.address = answer.Addresses[0].Value
	}
	if bar.Spec.ClassName != class || !deployment.DeletionTimestamp.IsZero() {
		return result // a class that the operator has not looked at yet, or that it refuses while the load balancer of another one stays
	}
	switch v1alpha1.BarPhase(answer.Word) {
	case v1alpha1.PhaseReady:
		if result.condition.Reason != v1alpha1.ReasonBarPending {
			// A request that cannot be granted leaves the load balancer as it was.
			result.condition.Message += "; meanwhile " + answering(deployment, answer.Address())
			return result
		}
		result.condition.Status, result.condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonExposed
		result.condition.Message = answering(deployment, answer.Address())
		if message := pendingMessage(bar); message != "" {
			result.condition.Message += "; " + message
		}
	case v1alpha1.PhaseFailed:
		result.condition.Message = answer.Message
		if ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady); ready != nil {
			result.condition.Reason = ready.Reason
		}
	default:
		if answer.Message != "" {
			result.condition.Message = answer.Message
		}
	}
	return result
}

// unwanted computes how a Foo without spec.bar is exposed: by the Bar of its Deployment until that
// Bar is gone, because the load balancer answers during the grace period, and a tenant may still
// keep it. A Bar that an annotation of somebody else's on the Deployment asks for is not the Foo's.
func unwanted(deployment *appsv1.Deployment, bar *v1alpha1.Bar) *exposure {
	const text = "the load balancer is not wanted any more and is being released"
	switch {
	case bar.Spec.Release:
		if held := heldBack(bar); held != "" {
			return notExposed(v1alpha1.ReasonTerminating, text+": "+held)
		}
		return notExposed(v1alpha1.ReasonTerminating, text)
	case bar.Spec.SourceRef.UID == "", bar.Spec.SourceRef.UID != deployment.UID, deployment.Annotations[v1alpha1.BarClassAnnotation] != "":
		return nil
	}
	result := notExposed(v1alpha1.ReasonReleasePending, "the load balancer is not wanted any more and is about to be released")
	if message := pendingMessage(bar); message != "" {
		result.condition.Message = message
	}
	if addresses := claim.AnswerOf(bar).Addresses; len(addresses) > 0 {
		result.address = addresses[0].Value
	}
	return result
}

// pendingMessage returns until when a Bar is kept and what keeps it for longer, "" if no release is
// pending.
func pendingMessage(bar *v1alpha1.Bar) string {
	pending := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReleasePending)
	if pending == nil || pending.Status != metav1.ConditionTrue {
		return ""
	}
	return pending.Message
}

func notExposed(reason, message string) *exposure {
	return &exposure{condition: metav1.Condition{Type: v1alpha1.FooExposed, Status: metav1.ConditionFalse, Reason: reason, Message: message}}
}

// obstacle says why the Deployment cannot ask for the load balancer, nil where it can: it is not
// the Foo's, does not have the request, or is being deleted.
func obstacle(foo *v1alpha1.Foo, deployment *appsv1.Deployment, refusal *retry.Refusal) *exposure {
	switch controlled := metav1.IsControlledBy(deployment, foo); {
	case refusal != nil && (!controlled || !asks(foo, deployment)):
		return notExposed(refusal.Reason, "the Deployment cannot ask for a load balancer: "+refusal.Message)
	case controlled && !deployment.DeletionTimestamp.IsZero():
		return notExposed(v1alpha1.ReasonTerminating, beingDeleted(deployment))
	default:
		return nil
	}
}

// asks says whether the Deployment has the request of the present spec.
func asks(foo *v1alpha1.Foo, deployment *appsv1.Deployment) bool {
	wanted, present := request(foo.Spec.Bar), deployment.Annotations
	return present[v1alpha1.BarClassAnnotation] == wanted[v1alpha1.BarClassAnnotation] &&
		present[v1alpha1.BarPortAnnotation] == wanted[v1alpha1.BarPortAnnotation]
}

// heldBack says what a Bar that is released waits for, if anything.
func heldBack(bar *v1alpha1.Bar) string {
	if !bar.Spec.Release {
		return ""
	}
	return claim.AnswerOf(bar).Message
}

// answering says where a load balancer that is ready answers, and whether anything does. Exposed
// stays True without a Pod that is ready: the condition is about the load balancer, and Ready about
// the Pods, so that a Pod's restart does not look like a lost load balancer.
func answering(deployment *appsv1.Deployment, address string) string {
	text := "the load balancer answers at " + address
	switch {
	case deployment.Status.ReadyReplicas > 0:
	case ptr.Deref(deployment.Spec.Replicas, 1) == 0:
		text = fmt.Sprintf("the load balancer has the address %s, but nothing serves there: no Pod is wanted", address)
	default:
		text = fmt.Sprintf("the load balancer has the address %s, but nothing serves there: no Pod is ready", address)
	}
	return text
}

// fooOfBar gives the Foo whose Deployment asked for a Bar: it has the Deployment's name.
func fooOfBar(_ context.Context, bar *v1alpha1.Bar) []reconcile.Request {
	ref := bar.Spec.SourceRef
	if ref.Kind != v1alpha1.SourceDeployment {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}}
}
