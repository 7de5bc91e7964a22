package foo

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
	"github.com/controlee/controlee/pkg/recorder"
	"github.com/controlee/controlee/pkg/retry"
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

// Rights are what the controller must be able to do in a tenant namespace besides reading Kinds. One that is missing means that
// the RoleBinding is not what the chart makes it.
func Rights() []authorizationv1.ResourceAttributes {
	return []authorizationv1.ResourceAttributes{
		{Verb: "patch", Group: v1alpha1.GroupVersion.Group, Resource: "foos", Subresource: "status"},
		{Verb: "patch", Group: "apps", Resource: "deployments"},
	}
}

// Options say how the controller works.
type Options struct {
	// Client reads and writes the API server directly, without a cache.
	Client client.Client
	// SystemNamespace is where Bars and Tenants are.
	SystemNamespace string
	// Workers is the number of Foos that are reconciled at the same time.
	Workers  int
	Settings Settings
}

// SetupWithManager adds the controller.
func SetupWithManager(mgr ctrl.Manager, registry *tenancy.Registry, options Options) error {
	c, err := controller.New("foo", mgr, controller.Options{
		MaxConcurrentReconciles: options.Workers,
		RateLimiter:             retry.NewRateLimiter(),
		Reconciler: retry.OnConflict(&Reconciler{
			Namespaces: registry,
			Cache:      mgr.GetCache(),
			Client:     options.Client,
			Writer:     apply.Writer{Client: options.Client, FieldManager: FieldManager},
			Recorder:   recorder.New(mgr.GetEventRecorder(FieldManager), mgr.GetScheme()),
			Settings:   options.Settings,

			SystemNamespace: options.SystemNamespace,
		}),
	})
	if err != nil {
		return err
	}
	// Our own status writes as well: a reconcile may have run before the cache had the last one, seen the status before it,
	// and found nothing to write.
	if err := c.Watch(registry.Source(&v1alpha1.Foo{}, &handler.EnqueueRequestForObject{})); err != nil {
		return err
	}
	if err := c.Watch(source.Kind(mgr.GetCache(), &v1alpha1.Bar{}, handler.TypedEnqueueRequestsFromMapFunc(fooOfBar))); err != nil {
		return err
	}
	if err := c.Watch(source.Kind(mgr.GetCache(), &v1alpha1.Tenant{}, leavingEvents(registry))); err != nil {
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
