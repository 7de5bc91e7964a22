package foo

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
	"github.com/controlee/controlee/pkg/tenancy"
)

// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=controlee.dev,resources=foos,verbs=list;watch
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=controlee.dev,resources=foos/status,verbs=patch
// The owner references block a foreground deletion of the Foo until its children are gone; where the admission plugin
// OwnerReferencesPermissionEnforcement is on, that takes the right to update the Foo's finalizers.
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=controlee.dev,resources=foos/finalizers,verbs=update
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=apps,resources=deployments,verbs=list;watch;create;patch
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=autoscaling,resources=horizontalpodautoscalers,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=policy,resources=poddisruptionbudgets,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups=events.k8s.io,resources=events,verbs=create;patch

// FieldManager is this controller's name in the managed fields of what it applies.
const FieldManager = "controlee-foo"

// Kinds are the kinds that the controller reads from the caches of tenant namespaces.
func Kinds() []client.Object {
	return []client.Object{&v1alpha1.Foo{}, &appsv1.Deployment{}, &autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{}}
}

// Options say how the controller works.
type Options struct {
	// Client reads and writes the API server directly, without a cache.
	Client client.Client
	// Workers is the number of Foos that are reconciled at the same time.
	Workers  int
	Settings Settings
}

// SetupWithManager adds the controller.
func SetupWithManager(mgr ctrl.Manager, registry *tenancy.Registry, options Options) error {
	c, err := controller.New("foo", mgr, controller.Options{
		MaxConcurrentReconciles: options.Workers,
		RateLimiter:             newRateLimiter(),
		Reconciler: &Reconciler{
			Namespaces: registry,
			BarClasses: mgr.GetCache(),
			Client:     options.Client,
			Writer:     apply.Writer{Client: options.Client, FieldManager: FieldManager},
			Recorder:   mgr.GetEventRecorder(FieldManager),
			Settings:   options.Settings,
		},
	})
	if err != nil {
		return err
	}
	// Our own status writes are no news.
	if err := c.Watch(registry.Source(&v1alpha1.Foo{}, &handler.EnqueueRequestForObject{}, predicate.Or[client.Object](
		predicate.GenerationChangedPredicate{}, deletionBegan{}))); err != nil {
		return err
	}
	if err := c.Watch(source.Kind(mgr.GetCache(), &v1alpha1.BarClass{}, handler.TypedEnqueueRequestsFromMapFunc(foosOfClass(registry)))); err != nil {
		return err
	}
	// A child has its Foo's name, and so has a foreign object that is in the way of one: the Foo is told when it goes.
	for _, child := range Kinds()[1:] {
		if err := c.Watch(registry.Source(child, handler.EnqueueRequestsFromMapFunc(sameName))); err != nil {
			return err
		}
	}
	return nil
}

func sameName(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
}

// deletionBegan passes updates that set the deletion timestamp.
type deletionBegan struct{ predicate.Funcs }

func (deletionBegan) Update(e event.UpdateEvent) bool {
	return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
}

// Delays between two tries of one Foo after a passing error, doubled from first to last.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 2 * time.Minute
)
