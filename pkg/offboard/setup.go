package offboard

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=tenants,verbs=list;watch
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=tenants/status,verbs=patch
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=bars,verbs=list;watch
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=apps,resources=deployments,verbs=list;watch
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups="",resources=services,verbs=list;watch
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=controlee.dev,resources=foos,verbs=list;watch

// debounce is how long events are collected. A release of many load balancers is many events.
const debounce = 300 * time.Millisecond

// Options say how the controller works.
type Options struct {
	// Client reads and writes the API server directly, without a cache.
	Client client.Client
	// Late knows which of Kinds the cluster has.
	Late *tenancy.LateKinds
	// Kinds are the kinds that Bars are made into besides Services.
	Kinds []tenancy.LateKind
	// SystemNamespace is where Tenants and Bars are.
	SystemNamespace string
}

// SetupWithManager adds the controller.
func SetupWithManager(mgr ctrl.Manager, registry *tenancy.Registry, options Options) error {
	c, err := controller.New("offboard", mgr, controller.Options{
		RateLimiter: retry.NewRateLimiter(),
		Reconciler: retry.OnConflict(&Reconciler{ // package tenancy writes the status of Tenants as well
			Namespaces: registry, Cache: mgr.GetCache(), Client: options.Client, Late: options.Late, Kinds: options.Kinds,
			SystemNamespace: options.SystemNamespace,
		}),
	})
	if err != nil {
		return err
	}
	f := &finder{cache: mgr.GetCache(), namespaces: registry, systemNamespace: options.SystemNamespace}
	sources := []source.Source{
		// A Tenant's own status says which namespaces are served.
		source.Kind(mgr.GetCache(), &v1alpha1.Tenant{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.Tenant]{}),
		source.Kind(mgr.GetCache(), &v1alpha1.Bar{}, barEvents(f)),
	}
	for _, kind := range []client.Object{&corev1.Service{}, &appsv1.Deployment{}, &v1alpha1.Foo{}} {
		sources = append(sources, registry.Source(kind, objectEvents(f)))
	}
	for _, kind := range options.Kinds {
		sources = append(sources, registry.LateSource(kind.GroupKind, objectEvents(f)))
	}
	for _, s := range sources {
		if err := c.Watch(s); err != nil {
			return err
		}
	}
	return nil
}

// finder finds the leaving Tenants that an event is about. For all others an event costs a look
// into the cache.
type finder struct {
	cache           client.Reader
	namespaces      Namespaces
	systemNamespace string
}

// queue queues a Tenant that is leaving.
func (f *finder) queue(ctx context.Context, name string, queue tenancy.Queue) {
	key := types.NamespacedName{Namespace: f.systemNamespace, Name: name}
	tenant := &v1alpha1.Tenant{}
	if err := f.cache.Get(ctx, key, tenant); err == nil && tenant.Spec.Leaving {
		queue.AddAfter(reconcile.Request{NamespacedName: key}, debounce)
	}
}

// queueNamespace queues the leaving Tenant that a namespace is served for.
func (f *finder) queueNamespace(ctx context.Context, name string, queue tenancy.Queue) {
	if namespace, served := f.namespaces.Lookup(name); served {
		f.queue(ctx, namespace.Tenant, queue)
	}
}

// objectEvents queues the Tenant of an object in a tenant namespace.
func objectEvents(f *finder) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue tenancy.Queue) {
			f.queueNamespace(ctx, e.Object.GetNamespace(), queue)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue tenancy.Queue) {
			f.queueNamespace(ctx, e.ObjectNew.GetNamespace(), queue)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue tenancy.Queue) {
			f.queueNamespace(ctx, e.Object.GetNamespace(), queue)
		},
	}
}

// barEvents queues the Tenant of a Bar, and that of its source's namespace.
func barEvents(f *finder) handler.TypedEventHandler[*v1alpha1.Bar, reconcile.Request] {
	handle := func(ctx context.Context, bar *v1alpha1.Bar, queue tenancy.Queue) {
		f.queue(ctx, bar.Spec.Tenant, queue)
		f.queueNamespace(ctx, bar.Spec.SourceRef.Namespace, queue)
	}
	return handler.TypedFuncs[*v1alpha1.Bar, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*v1alpha1.Bar], queue tenancy.Queue) {
			handle(ctx, e.Object, queue)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*v1alpha1.Bar], queue tenancy.Queue) {
			handle(ctx, e.ObjectNew, queue)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*v1alpha1.Bar], queue tenancy.Queue) {
			handle(ctx, e.Object, queue)
		},
	}
}
