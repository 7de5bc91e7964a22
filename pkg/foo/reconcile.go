package foo

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// Namespaces knows which namespaces are served.
type Namespaces interface {
	// Lookup gives a namespace that is served now.
	Lookup(name string) (*tenancy.Namespace, bool)
	// Suspect has the operator's access to a namespace checked again.
	Suspect(name string)
}

// Reconciler brings what exists in line with what a Foo asks for.
type Reconciler struct {
	Namespaces Namespaces
	Cache      client.Reader // reads Bars and Tenants from a cache
	Client     client.Client // writes the status
	Writer     apply.Writer  // writes the children
	Recorder   events.EventRecorder
	Settings   Settings
	// SystemNamespace is where Bars and Tenants are.
	SystemNamespace string
}

// children are the live objects of a Foo's children; one that does not exist has no UID.
type children struct {
	deployment appsv1.Deployment
	autoscaler autoscalingv2.HorizontalPodAutoscaler
	budget     policyv1.PodDisruptionBudget
}

// Reconcile brings one Foo up to date.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := r.reconcile(ctx, request)
	return retry.Outcome(result, err, func() { r.Namespaces.Suspect(request.Namespace) })
}

// reconcile reads, computes, applies the difference, and writes the status if it differs.
func (r *Reconciler) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	namespace, served := r.Namespaces.Lookup(request.Namespace)
	if !served {
		return reconcile.Result{}, nil // it comes back when the namespace is served again
	}
	foo := &v1alpha1.Foo{}
	if err := namespace.Get(ctx, request.NamespacedName, foo); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !foo.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // garbage collection is at work; a child made now would hold it up
	}

	tenant, err := r.tenantOf(ctx, namespace)
	switch {
	case err != nil || tenant == nil:
		return reconcile.Result{}, err // an event of the Tenant, or the next service of the namespace, requeues the Foo
	case tenant.Spec.Leaving:
		return reconcile.Result{}, r.reportLeaving(ctx, foo, tenant.Name)
	}
	live, err := read(ctx, namespace, request)
	if err != nil {
		return reconcile.Result{}, err
	}
	refusal, err := retry.RefusalOf(r.ensure(ctx, foo, live))
	if err != nil {
		return reconcile.Result{}, err
	}
	return refusal.Result(), client.IgnoreNotFound(r.report(ctx, foo, live, refusal))
}

// read takes the children from the namespace's cache.
func read(ctx context.Context, reader client.Reader, request reconcile.Request) (*children, error) {
	live := &children{}
	for _, object := range []client.Object{&live.deployment, &live.autoscaler, &live.budget} {
		err := reader.Get(ctx, request.NamespacedName, object)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
	}
	return live, nil
}

// ensure applies what the Foo wants and deletes what it no longer wants. The Deployment comes first: an autoscaler
// must not be pointed at one that is not the Foo's.
func (r *Reconciler) ensure(ctx context.Context, foo *v1alpha1.Foo, live *children) error {
	want, err := desire(foo, r.Settings)
	if err != nil {
		return err
	}
	takesOver := live.deployment.UID == ""
	if want.autoscaler == nil {
		if err := r.delete(ctx, foo, &live.autoscaler); err != nil {
			return err
		}
	} else if metav1.IsControlledBy(&live.deployment, foo) {
		// From now on the autoscaler sets the number of Pods. It starts from the present one.
		if takesOver, err = r.Writer.Release(ctx, &live.deployment, "spec", "replicas"); err != nil {
			return err
		}
	}
	if err := r.apply(ctx, foo, &live.deployment, want.deployment); err != nil {
		return err
	}
	if want.autoscaler != nil {
		if err := r.startAutoscaling(ctx, foo, &live.deployment, takesOver); err != nil {
			return err
		}
		if err := r.apply(ctx, foo, &live.autoscaler, want.autoscaler); err != nil {
			return err
		}
	}
	if want.budget == nil {
		return r.delete(ctx, foo, &live.budget)
	}
	return r.apply(ctx, foo, &live.budget, want.budget)
}
