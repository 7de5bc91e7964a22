package bar

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/recorder"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// The rights on what providers make stand beside each provider.
//
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=bars,verbs=get;list;watch;delete
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=bars/status,verbs=patch
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:roleName=controlee-operator,groups=controlee.dev,resources=barclasses,verbs=list;watch
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=apps,resources=deployments,verbs=list;watch

// FieldManager is this controller's name in the managed fields of what it applies.
const FieldManager = "controlee-bar"

// Kinds are the kinds that the controller reads from the caches of tenant namespaces, besides those
// of the providers that a cluster may lack.
func Kinds() []client.Object {
	return []client.Object{&appsv1.Deployment{}, &corev1.Service{}}
}

// Options say how the controller works.
type Options struct {
	// Client reads and writes the API server directly, without a cache.
	Client client.Client
	// Late knows which of the providers' kinds the cluster has.
	Late *tenancy.LateKinds
	// Providers are what a BarClass can name.
	Providers provider.Set
	// SystemNamespace is where the Bars are.
	SystemNamespace string
	// Workers is the number of Bars that are reconciled at the same time.
	Workers int
}

// SetupWithManager adds the controller.
func SetupWithManager(mgr ctrl.Manager, registry *tenancy.Registry, options Options) error {
	bars := &finder{reader: mgr.GetCache(), namespace: options.SystemNamespace}
	if err := bars.index(mgr.GetCache()); err != nil {
		return err
	}
	if err := metrics.Registry.Register(&collector{bars: bars}); err != nil {
		return err
	}
	reconciler := New(registry, mgr.GetCache(), options)
	reconciler.Recorder = recorder.New(mgr.GetEventRecorder(FieldManager), mgr.GetScheme())
	c, err := controller.New("bar", mgr, controller.Options{
		MaxConcurrentReconciles: options.Workers,
		RateLimiter:             retry.NewRateLimiter(),
		Reconciler:              retry.OnConflict(reconciler),
	})
	if err != nil {
		return err
	}
	return watch(c, mgr.GetCache(), registry, reconciler, bars)
}

// New makes a Reconciler without a recorder of Events.
func New(namespaces Namespaces, reader client.Reader, options Options) *Reconciler {
	return &Reconciler{
		Namespaces: namespaces,
		Cache:      reader,
		Client:     options.Client,
		Writer:     apply.Writer{Client: options.Client, FieldManager: FieldManager},
		Late:       options.Late,
		Providers:  options.Providers,
		Now:        time.Now,
		owners:     newOwners(options.SystemNamespace),
	}
}

func watch(c controller.Controller, objects cache.Cache, registry *tenancy.Registry, r *Reconciler, bars *finder) error {
	sources := []source.Source{
		// Our own status writes as well: a reconcile may have run before the cache had the last
		// one.
		source.Kind(objects, &v1alpha1.Bar{}, r.barEvents()),
		source.Kind(objects, &v1alpha1.BarClass{}, handler.TypedEnqueueRequestsFromMapFunc(bars.ofClass), predicate.TypedGenerationChangedPredicate[*v1alpha1.BarClass]{}),
		registry.Source(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(bars.ofObject("Service"))),
		// A source that appears: its namespace has just begun to be served, or has come back.
		registry.Source(&corev1.Service{}, onCreate(bars.ofSource(v1alpha1.SourceService))),
		registry.Source(&appsv1.Deployment{}, onCreate(bars.ofSource(v1alpha1.SourceDeployment))),
		source.Func(func(ctx context.Context, queue tenancy.Queue) error {
			r.owners.wakeThrough(queue)
			registry.NotifyLoss(func(namespace string) {
				r.forgetCache(namespace)
				if !registry.Assigned(namespace) {
					r.owners.forgetForeign(namespace)
				}
				r.owners.wakeFor(namespace)
				for _, request := range bars.find(ctx, client.MatchingFields{byNamespace: namespace}) {
					queue.Add(request)
				}
			})
			r.Late.Notify(func() {
				for _, request := range bars.find(ctx) {
					queue.Add(request)
				}
			})
			return nil
		}),
	}
	for _, kind := range r.Providers.Kinds() {
		sources = append(sources,
			registry.LateSource(kind.GroupKind, r.userEvents()),
			registry.LateSource(kind.GroupKind, handler.EnqueueRequestsFromMapFunc(bars.ofObject(kind.Kind))))
	}
	for _, s := range sources {
		if err := c.Watch(s); err != nil {
			return err
		}
	}
	return nil
}

// barEvents keeps the owners in line with what the Bars record, and has each Bar that changes
// reconciled.
func (r *Reconciler) barEvents() handler.TypedEventHandler[*v1alpha1.Bar, reconcile.Request] {
	enqueue := func(bar *v1alpha1.Bar, queue tenancy.Queue) {
		queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(bar)})
	}
	return handler.TypedFuncs[*v1alpha1.Bar, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1alpha1.Bar], queue tenancy.Queue) {
			r.owners.sawBar(e.Object)
			enqueue(e.Object, queue)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1alpha1.Bar], queue tenancy.Queue) {
			r.owners.sawBar(e.ObjectNew)
			enqueue(e.ObjectNew, queue)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1alpha1.Bar], queue tenancy.Queue) {
			r.barDeleted(e.Object)
			enqueue(e.Object, queue)
		},
	}
}

// userEvents keeps the owners in line with the live objects that use exclusive names. It runs in
// standbys, too.
func (r *Reconciler) userEvents() handler.EventHandler {
	saw := func(object client.Object) {
		if live, ok := object.(*unstructured.Unstructured); ok {
			r.owners.sawObject(live, r.Providers.Uses(live))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ tenancy.Queue) { saw(e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ tenancy.Queue) { saw(e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ tenancy.Queue) {
			if live, ok := e.Object.(*unstructured.Unstructured); ok {
				gone := userOf(live, nil)
				r.owners.goneObject(&gone)
			}
		},
	}
}

// onCreate passes on only that an object appears.
func onCreate(mapping handler.MapFunc) handler.EventHandler {
	return handler.Funcs{CreateFunc: func(ctx context.Context, e event.CreateEvent, queue tenancy.Queue) {
		for _, request := range mapping(ctx, e.Object) {
			queue.Add(request)
		}
	}}
}

// finder finds the Bars that an event is about.
type finder struct {
	reader    client.Reader
	namespace string
}

// Names of the indices of the cache of Bars.
const (
	byClass  = "bar-class"
	bySource = "bar-source"
	// byNamespace is the namespace of the source.
	byNamespace = "bar-namespace"
	byTarget    = "bar-target"
)

func (f *finder) index(indexer client.FieldIndexer) error {
	indices := map[string]func(*v1alpha1.Bar) []string{
		byClass: func(bar *v1alpha1.Bar) []string { return []string{bar.Spec.ClassName} },
		bySource: func(bar *v1alpha1.Bar) []string {
			source := &bar.Spec.SourceRef
			return []string{place(string(source.Kind), source.Namespace, source.Name)}
		},
		byNamespace: func(bar *v1alpha1.Bar) []string { return []string{bar.Spec.SourceRef.Namespace} },
		byTarget: func(bar *v1alpha1.Bar) (places []string) {
			for i := range bar.Status.Targets {
				target := &bar.Status.Targets[i]
				places = append(places, place(target.Kind, target.Namespace, target.Name))
			}
			return places
		},
	}
	for name, extract := range indices {
		err := indexer.IndexField(context.Background(), &v1alpha1.Bar{}, name, func(object client.Object) []string {
			if bar, ok := object.(*v1alpha1.Bar); ok {
				return extract(bar)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func place(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// list gives Bars from the cache.
func (f *finder) list(ctx context.Context, options ...client.ListOption) []v1alpha1.Bar {
	bars := &v1alpha1.BarList{}
	if err := f.reader.List(ctx, bars, append(options, client.InNamespace(f.namespace))...); err != nil {
		logf.FromContext(ctx).Error(err, "Could not list Bars")
	}
	return bars.Items
}

func (f *finder) find(ctx context.Context, options ...client.ListOption) (requests []reconcile.Request) {
	bars := f.list(ctx, options...)
	for i := range bars {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&bars[i])})
	}
	return requests
}

func (f *finder) ofClass(ctx context.Context, class *v1alpha1.BarClass) []reconcile.Request {
	return f.find(ctx, client.MatchingFields{byClass: class.Name})
}

func (f *finder) ofSource(kind v1alpha1.BarSourceKind) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		return f.find(ctx, client.MatchingFields{bySource: place(string(kind), object.GetNamespace(), object.GetName())})
	}
}

// ofObject finds the Bar that an object says it was made for, which may not have it in its status
// yet, and those that plan an object of its name: it may be in the way.
func (f *finder) ofObject(kind string) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		requests := f.find(ctx, client.MatchingFields{byTarget: place(kind, object.GetNamespace(), object.GetName())})
		if name := object.GetLabels()[v1alpha1.BarLabel]; name != "" {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: f.namespace, Name: name}})
		}
		return requests
	}
}
