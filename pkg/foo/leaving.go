package foo

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=tenants,verbs=list;watch

// isLeaving returns whether a namespace is served for a Tenant that is leaving. Its Foos are not managed any more.
func (r *Reconciler) isLeaving(ctx context.Context, namespace *tenancy.Namespace) (bool, error) {
	tenant := &v1alpha1.Tenant{}
	if err := r.Bars.Get(ctx, client.ObjectKey{Namespace: r.SystemNamespace, Name: namespace.Tenant}, tenant); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return tenant.Spec.Leaving, nil
}

// reportLeaving writes the status of a Foo that is not managed any more, if it differs.
func (r *Reconciler) reportLeaving(ctx context.Context, foo *v1alpha1.Foo, tenant string) error {
	status := leavingStatus(foo, tenant)
	if equality.Semantic.DeepEqual(status, foo.Status) {
		return nil
	}
	changed := foo.DeepCopy()
	changed.Status = status
	patch := client.MergeFromWithOptions(foo, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Client.Status().Patch(ctx, changed, patch))
}

// leavingStatus computes the status of a Foo whose Tenant is leaving. It is the last one that is written, so it stays true when the
// operator has lost its rights: nothing is known of the Deployment from now on.
func leavingStatus(foo *v1alpha1.Foo, tenant string) v1alpha1.FooStatus {
	status := *foo.Status.DeepCopy()
	status.ObservedGeneration = foo.Generation
	status.Address = ""
	types := []string{v1alpha1.FooReady, v1alpha1.FooProgressing}
	if foo.Spec.Bar != nil {
		types = append(types, v1alpha1.FooExposed)
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.FooExposed)
	}
	for _, conditionType := range types {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: conditionType, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonTenantLeaving, ObservedGeneration: foo.Generation,
			Message: fmt.Sprintf("Tenant %s is leaving the platform: this Foo is no longer managed, and a Deployment %s that exists goes on as it is", tenant, foo.Name),
		})
	}
	return status
}

// leavingEvents queues the Foos of a Tenant that begins to leave, or stays after all.
func leavingEvents(registry *tenancy.Registry) handler.TypedEventHandler[*v1alpha1.Tenant, reconcile.Request] {
	return handler.TypedFuncs[*v1alpha1.Tenant, reconcile.Request]{
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*v1alpha1.Tenant], queue tenancy.Queue) {
			if e.ObjectOld.Spec.Leaving == e.ObjectNew.Spec.Leaving {
				return
			}
			for _, namespace := range registry.Served() {
				if namespace.Tenant != e.ObjectNew.Name {
					continue
				}
				foos := &v1alpha1.FooList{}
				if err := namespace.List(ctx, foos, client.InNamespace(namespace.Name), client.UnsafeDisableDeepCopy); err != nil {
					logf.FromContext(ctx).Info("Could not list the Foos of a namespace", "namespace", namespace.Name, "error", err.Error())
				}
				for i := range foos.Items {
					queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&foos.Items[i])})
				}
			}
		},
	}
}
