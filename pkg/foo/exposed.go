package foo

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/claim"
)

// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=bars,verbs=list;watch

// exposure is how a Foo is exposed.
type exposure struct {
	condition metav1.Condition
	address   string
}

// exposed finds out how a Foo is exposed: nil for one that does not ask for a load balancer.
func (r *Reconciler) exposed(ctx context.Context, foo *v1alpha1.Foo, deployment *appsv1.Deployment) (*exposure, error) {
	if foo.Spec.Bar == nil {
		return nil, nil
	}
	bar := &v1alpha1.Bar{}
	name := claim.BarName(v1alpha1.SourceDeployment, foo.Namespace, foo.Name)
	err := r.Bars.Get(ctx, client.ObjectKey{Namespace: r.SystemNamespace, Name: name}, bar)
	return desireExposure(foo, deployment, bar), client.IgnoreNotFound(err)
}

// desireExposure says how a Foo is exposed, given its Deployment and the Bar of that name (zero: none). What the Deployment's annotation
// says counts only as an excuse: a tenant can write it, too.
func desireExposure(foo *v1alpha1.Foo, deployment *appsv1.Deployment, bar *v1alpha1.Bar) *exposure {
	class := foo.Spec.Bar.ClassName
	result := &exposure{condition: metav1.Condition{
		Type: v1alpha1.FooExposed, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonBarPending,
		Message: fmt.Sprintf("waiting for a load balancer of BarClass %q", class),
	}}
	if !metav1.IsControlledBy(deployment, foo) {
		return result
	}
	if reason, message, refused := claim.Refusal(deployment.Annotations[v1alpha1.BarStateAnnotation]); refused {
		result.condition.Reason, result.condition.Message = reason, message
	}
	if bar.Spec.SourceRef.UID != deployment.UID || bar.Spec.Release {
		return result
	}
	answer := claim.AnswerOf(bar)
	if len(answer.Addresses) > 0 {
		result.address = answer.Addresses[0].Value
	}
	if bar.Spec.ClassName != class {
		return result // a class that the operator has not looked at yet, or that it refuses while the load balancer of another one stays
	}
	switch v1alpha1.BarPhase(answer.Word) {
	case v1alpha1.PhaseReady:
		result.condition.Status, result.condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonExposed
		result.condition.Message = "the load balancer answers at " + answer.Address()
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

// fooOfBar gives the Foo whose Deployment asked for a Bar: it has the Deployment's name.
func fooOfBar(_ context.Context, bar *v1alpha1.Bar) []reconcile.Request {
	ref := bar.Spec.SourceRef
	if ref.Kind != v1alpha1.SourceDeployment {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}}
}
