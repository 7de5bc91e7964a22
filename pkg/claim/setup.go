package claim

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
	"github.com/controlee/controlee/pkg/recorder"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// Sources and Tenants are read once more, from the API server itself, before a load balancer is
// taken away. The status of a Bar says that its release is pending.
//
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=apps,resources=deployments,verbs=get;list;watch;patch
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups="",resources=services,verbs=get;list;watch;patch
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups="",resources=services/status,verbs=patch
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=bars,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=bars/status,verbs=patch
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=tenants,verbs=get;list;watch
// +kubebuilder:rbac:roleName=controlee-operator,groups=controlee.dev,resources=barclasses,verbs=list;watch

// FieldManager is this controller's name in the managed fields of what it writes.
const FieldManager = "controlee-claim"

// Kinds are the kinds that the controllers read from the caches of tenant namespaces.
func Kinds() (objects []client.Object) {
	for _, k := range kinds {
		objects = append(objects, k.object())
	}
	return objects
}

// Rights are what the controllers must be able to do in a tenant namespace besides reading Kinds.
func Rights() []authorizationv1.ResourceAttributes {
	return []authorizationv1.ResourceAttributes{
		{Verb: "patch", Group: "apps", Resource: "deployments"},
		{Verb: "patch", Resource: "services"},
	}
}

// Options say how the controllers work.
type Options struct {
	// Client reads and writes the API server directly, without a cache.
	Client client.Client
	// SystemNamespace is where Bars and Tenants are.
	SystemNamespace string
	// Workers is the number of sources of each kind that are reconciled at the same time.
	Workers int
	// Sweep says how what is left behind is looked for.
	Sweep SweepOptions
}

// SetupWithManager adds a controller for each kind of source, and the sweep.
func SetupWithManager(ctx context.Context, mgr ctrl.Manager, registry *tenancy.Registry, options Options) error {
	for name, field := range map[string]func(*v1alpha1.Bar) string{
		byTenant:    func(bar *v1alpha1.Bar) string { return bar.Spec.Tenant },
		byNamespace: func(bar *v1alpha1.Bar) string { return bar.Spec.SourceRef.Namespace },
	} {
		extract := func(o client.Object) []string { return []string{field(o.(*v1alpha1.Bar))} } //nolint:forcetypeassert // as asked for
		if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Bar{}, name, extract); err != nil {
			return err
		}
	}
	limits := newLimits(mgr.GetCache(), options.Client, registry, options.SystemNamespace, clock.RealClock{})
	reconcilers := map[v1alpha1.BarSourceKind]*Reconciler{}
	for _, k := range kinds {
		reconcilers[k.name] = &Reconciler{
			kind:            k,
			namespaces:      registry,
			systemNamespace: options.SystemNamespace,
			cached:          mgr.GetCache(),
			direct:          options.Client,
			writer:          apply.Writer{Client: options.Client, FieldManager: FieldManager},
			recorder:        recorder.New(mgr.GetEventRecorder(FieldManager), mgr.GetScheme()),
			limits:          limits,
			clock:           clock.RealClock{},
			pending:         newGracePeriods(clock.RealClock{}),
			lost:            newStopwatches(clock.RealClock{}),
			reports:         newReports(clock.RealClock{}),
		}
		if err := reconcilers[k.name].setup(mgr, registry, options.Workers); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return mgr.Add(&sweep{
		options: options.Sweep, registry: registry, served: registry.Served, reconcilers: reconcilers,
		systemNamespace: options.SystemNamespace, cached: mgr.GetCache(), direct: options.Client,
	})
}

// setup adds the controller of one kind of source.
func (r *Reconciler) setup(mgr ctrl.Manager, registry *tenancy.Registry, workers int) error {
	c, err := controller.New("claim-"+string(r.kind.name), mgr, controller.Options{
		MaxConcurrentReconciles: workers,
		RateLimiter:             retry.NewRateLimiter(),
		Reconciler:              retry.OnConflict(r),
	})
	if err != nil {
		return err
	}
	registry.NotifyLoss(r.forgetLost)
	if err := c.Watch(registry.Source(r.kind.object(), &handler.EnqueueRequestForObject{})); err != nil {
		return err
	}
	if r.kind.name == v1alpha1.SourceService {
		if err := c.Watch(registry.Source(&appsv1.Deployment{}, r.readinessEvents())); err != nil {
			return err
		}
	}
	if err := c.Watch(source.Kind(mgr.GetCache(), &v1alpha1.Bar{}, r.barEvents())); err != nil {
		return err
	}
	// Of a class counts whether it is there and what it is; its status changes nothing.
	if err := c.Watch(source.Kind(mgr.GetCache(), &v1alpha1.BarClass{}, handler.TypedEnqueueRequestsFromMapFunc(r.sourcesOfClass),
		predicate.TypedGenerationChangedPredicate[*v1alpha1.BarClass]{})); err != nil {
		return err
	}
	// A change of the status alone counts as well: a namespace of the Tenant may be lost, and gone,
	// and then its Bars are released.
	if err := c.Watch(source.Kind(mgr.GetCache(), &v1alpha1.Tenant{}, handler.TypedEnqueueRequestsFromMapFunc(r.sourcesOfTenant))); err != nil {
		return err
	}
	return c.Watch(source.Func(func(_ context.Context, queue tenancy.Queue) error {
		r.limits.attach(r.kind.name, queue)
		return nil
	}))
}

// barEvents brings Bars to their sources, and every event to the limits. Before or after is nil for
// a Bar that is new or gone.
func (r *Reconciler) barEvents() handler.TypedEventHandler[*v1alpha1.Bar, reconcile.Request] {
	handle := func(before, after *v1alpha1.Bar, queue tenancy.Queue) {
		bar := after
		if after == nil {
			bar = before
		}
		if ref := bar.Spec.SourceRef; ref.Kind == r.kind.name {
			r.limits.observe(before, after)
			if after == nil {
				r.pending.stop(bar.UID)
				r.lost.stop(bar.UID)
			}
			queue.Add(requestFor(ref))
		}
	}
	return handler.TypedFuncs[*v1alpha1.Bar, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1alpha1.Bar], queue tenancy.Queue) {
			handle(nil, e.Object, queue)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1alpha1.Bar], queue tenancy.Queue) {
			handle(e.ObjectOld, e.ObjectNew, queue)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1alpha1.Bar], queue tenancy.Queue) {
			handle(e.Object, nil, queue)
		},
	}
}

func requestFor(ref v1alpha1.BarSourceReference) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}
}

// sourcesOfClass returns the sources that ask for a BarClass, and those whose Bars have it: their
// grace period is that of the class, whatever they ask for now.
func (r *Reconciler) sourcesOfClass(ctx context.Context, class *v1alpha1.BarClass) (requests []reconcile.Request) {
	for _, namespace := range r.namespaces.Served() {
		requests = append(requests, r.sources(ctx, namespace, func(source client.Object) bool {
			className, _ := classOf(source)
			return className == class.Name
		})...)
	}
	bars := &v1alpha1.BarList{}
	if err := r.cached.List(ctx, bars, client.InNamespace(r.systemNamespace), client.UnsafeDisableDeepCopy); err != nil {
		logf.FromContext(ctx).Error(err, "Could not list the Bars of a BarClass", "class", class.Name)
	}
	for i := range bars.Items {
		if spec := &bars.Items[i].Spec; spec.ClassName == class.Name && spec.SourceRef.Kind == r.kind.name {
			requests = append(requests, requestFor(spec.SourceRef))
		}
	}
	return requests
}

// sourcesOfTenant gives the sources in a Tenant's namespaces that opt in, in whatever way, or carry
// an answer, and those of its Bars, which may be in a namespace that is not served any more.
func (r *Reconciler) sourcesOfTenant(ctx context.Context, tenant *v1alpha1.Tenant) (requests []reconcile.Request) {
	bars := &v1alpha1.BarList{}
	if err := r.cached.List(ctx, bars, client.InNamespace(r.systemNamespace), client.MatchingFields{byTenant: tenant.Name}, client.UnsafeDisableDeepCopy); err != nil {
		logf.FromContext(ctx).Error(err, "Could not list the Bars of a Tenant", "tenant", tenant.Name)
	}
	for i := range bars.Items {
		if ref := bars.Items[i].Spec.SourceRef; ref.Kind == r.kind.name {
			requests = append(requests, requestFor(ref))
		}
	}
	for _, namespace := range r.namespaces.Served() {
		if namespace.Tenant == tenant.Name {
			requests = append(requests, r.sources(ctx, namespace, func(source client.Object) bool {
				className, refusal := classOf(source)
				return className != "" || refusal != nil || len(Traces(source)) > 0
			})...)
		}
	}
	return requests
}

// sources gives the sources of a namespace that are chosen.
func (r *Reconciler) sources(ctx context.Context, namespace *tenancy.Namespace, chosen func(source client.Object) bool) (requests []reconcile.Request) {
	list := r.kind.list()
	err := namespace.List(ctx, list, client.InNamespace(namespace.Name), client.UnsafeDisableDeepCopy)
	if err == nil {
		err = meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object) //nolint:forcetypeassert // all kinds of source are
			if chosen(object) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
			}
			return nil
		})
	}
	if err != nil {
		logf.FromContext(ctx).Error(err, "Could not list the sources of a namespace", "namespace", namespace.Name)
	}
	return requests
}
