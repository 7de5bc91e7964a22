package foo

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// +kubebuilder:rbac:roleName=controlee-operator,groups=controlee.dev,resources=barclasses,verbs=list;watch

// exposed gives the condition Exposed of a Foo that asks for a load balancer, and nil for one that does not.
func (r *Reconciler) exposed(ctx context.Context, foo *v1alpha1.Foo) (*metav1.Condition, error) {
	if foo.Spec.Bar == nil {
		return nil, nil
	}
	name := foo.Spec.Bar.ClassName
	condition := &metav1.Condition{
		Type: v1alpha1.FooExposed, Status: metav1.ConditionFalse,
		Reason:  v1alpha1.ReasonBarPending,
		Message: fmt.Sprintf("waiting for a load balancer of BarClass %q", name),
	}
	err := r.BarClasses.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.BarClass{})
	if apierrors.IsNotFound(err) {
		condition.Reason = v1alpha1.ReasonBarClassNotFound
		condition.Message = fmt.Sprintf("there is no BarClass %q: set spec.bar.className to one that your platform offers", name)
		return condition, nil
	}
	return condition, err
}

// foosOfClass gives the Foos that ask for a BarClass: they are told when it comes or goes.
func foosOfClass(registry *tenancy.Registry) func(context.Context, *v1alpha1.BarClass) []reconcile.Request {
	return func(ctx context.Context, class *v1alpha1.BarClass) (requests []reconcile.Request) {
		for _, namespace := range registry.Served() {
			foos := &v1alpha1.FooList{}
			if err := namespace.List(ctx, foos, client.InNamespace(namespace.Name)); err != nil {
				logf.FromContext(ctx).Error(err, "Could not list the Foos of a BarClass", "namespace", namespace.Name, "barClass", class.Name)
				continue
			}
			for i := range foos.Items {
				if bar := foos.Items[i].Spec.Bar; bar != nil && bar.ClassName == class.Name {
					requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&foos.Items[i])})
				}
			}
		}
		return requests
	}
}
