package foo

import (
	"context"
	"fmt"
	"slices"

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

// tenantOf returns the Tenant that a namespace is served for, nil if the Tenant is gone or no
// longer names the namespace. Its Foos are not managed then: the Registry is about to end the
// service.
func (r *Reconciler) tenantOf(ctx context.Context, namespace *tenancy.Namespace) (*v1alpha1.Tenant, error) {
	tenant := &v1alpha1.Tenant{}
	if err := r.Cache.Get(ctx, client.ObjectKey{Namespace: r.SystemNamespace, Name: namespace.Tenant}, tenant); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !tenant.DeletionTimestamp.IsZero() || !slices.Contains(tenant.Spec.Namespaces, namespace.Name) {
		return nil, nil
	}
	return tenant, nil
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

// leavingStatus computes the status of a Foo whose Tenant is leaving. It is the last one that is
// written, so it stays true when the operator has lost its rights: nothing is known of the
// Deployment from now on.
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

// servedNamespaces knows which namespaces are served.
type servedNamespaces interface {
	// Served gives all namespaces that are served now.
	Served() []*tenancy.Namespace
}

// leavingEvents queues the Foos of a Tenant that begins to leave or stays after all, and of one
// that tenantOf may have missed for a moment: a Tenant that is recreated, or whose namespaces
// change.
func leavingEvents(namespaces servedNamespaces) handler.TypedEventHandler[*v1alpha1.Tenant, reconcile.Request] {
	return handler.TypedFuncs[*v1alpha1.Tenant, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*v1alpha1.Tenant], queue tenancy.Queue) {
			if !e.IsInInitialList { // at the start all Foos are queued by their own events
				queueFoos(ctx, namespaces, e.Object.Name, queue)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*v1alpha1.Tenant], queue tenancy.Queue) {
			before, after := &e.ObjectOld.Spec, &e.ObjectNew.Spec
			if before.Leaving != after.Leaving || !slices.Equal(before.Namespaces, after.Namespaces) {
				queueFoos(ctx, namespaces, e.ObjectNew.Name, queue)
			}
		},
	}
}

// queueFoos queues the Foos of all namespaces that are served for a Tenant.
func queueFoos(ctx context.Context, namespaces servedNamespaces, tenant string, queue tenancy.Queue) {
	for _, namespace := range namespaces.Served() {
		if namespace.Tenant != tenant {
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
}
