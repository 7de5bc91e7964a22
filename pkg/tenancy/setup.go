package tenancy

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
)

// The access reviews of package tenancy need no rule: every account may ask them of itself.
//
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=tenants,verbs=list;watch
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=tenants/status,verbs=patch
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=rbac.authorization.k8s.io,resources=rolebindings,resourceNames=controlee-operator,verbs=list;watch

// SetupWithManager adds two controllers over Tenants: one, in every replica, tells the registry
// which namespaces to serve; the other, in the leader, writes into the Tenants' status what came of
// it.
func SetupWithManager(mgr ctrl.Manager, registry *Registry, systemNamespace string) error {
	if err := mgr.Add(registry); err != nil {
		return err
	}
	if err := metrics.Registry.Register(&collector{registry: registry}); err != nil {
		return err
	}
	reader := mgr.GetCache()

	// One request for all Tenants: who gets a namespace depends on all of them.
	everything := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: systemNamespace, Name: "*"}}
	assigner, err := controller.New("tenant-assignment", mgr, controller.Options{
		NeedLeaderElection: ptr.To(false),
		RateLimiter:        retry.NewRateLimiter(),
		Reconciler: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			tenants := &v1alpha1.TenantList{}
			if err := reader.List(ctx, tenants, client.InNamespace(systemNamespace)); err != nil {
				return reconcile.Result{}, err
			}
			registry.Assign(Assign(tenants.Items, systemNamespace))
			return reconcile.Result{}, nil
		}),
	})
	if err != nil {
		return err
	}
	toEverything := func(context.Context, *v1alpha1.Tenant) []reconcile.Request { return []reconcile.Request{everything} }
	if err := assigner.Watch(source.Kind(reader, &v1alpha1.Tenant{}, handler.TypedEnqueueRequestsFromMapFunc(toEverything))); err != nil {
		return err
	}
	// Also once without any Tenant, so that an empty installation becomes ready.
	if err := assigner.Watch(source.Func(func(_ context.Context, queue Queue) error {
		queue.Add(everything)
		return nil
	})); err != nil {
		return err
	}

	reporter, err := controller.New("tenant-status", mgr, controller.Options{
		RateLimiter: retry.NewRateLimiter(),
		Reconciler:  retry.OnConflict(&statusReconciler{client: mgr.GetClient(), registry: registry, systemNamespace: systemNamespace}),
	})
	if err != nil {
		return err
	}
	if err := reporter.Watch(source.Kind(reader, &v1alpha1.Tenant{}, statusEvents(reader, systemNamespace))); err != nil {
		return err
	}
	return reporter.Watch(source.Func(func(_ context.Context, queue Queue) error {
		registry.notify(func(tenant string) {
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: systemNamespace, Name: tenant}})
		})
		return nil
	}))
}

// statusEvents queues all Tenants when one comes, goes or changes its spec, since that can change
// what the others get; and one alone when nothing but its status has changed.
func statusEvents(reader client.Reader, systemNamespace string) handler.TypedEventHandler[*v1alpha1.Tenant, reconcile.Request] {
	all := func(ctx context.Context, queue Queue) {
		tenants := &v1alpha1.TenantList{}
		if err := reader.List(ctx, tenants, client.InNamespace(systemNamespace), client.UnsafeDisableDeepCopy); err != nil {
			return // the cache is stopping
		}
		for i := range tenants.Items {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&tenants.Items[i])})
		}
	}
	return handler.TypedFuncs[*v1alpha1.Tenant, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*v1alpha1.Tenant], queue Queue) {
			if e.IsInInitialList {
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
				return
			}
			all(ctx, queue)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*v1alpha1.Tenant], queue Queue) {
			if e.ObjectOld.Generation == e.ObjectNew.Generation && e.ObjectOld.UID == e.ObjectNew.UID {
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.ObjectNew)})
				return
			}
			all(ctx, queue)
		},
		DeleteFunc: func(ctx context.Context, _ event.TypedDeleteEvent[*v1alpha1.Tenant], queue Queue) { all(ctx, queue) },
	}
}
