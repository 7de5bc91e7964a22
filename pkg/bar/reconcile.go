package bar

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// Namespaces knows which namespaces are served.
type Namespaces interface {
	// Lookup gives a namespace that is served now.
	Lookup(name string) (*tenancy.Namespace, bool)
	// Lost says whether the operator has no business in a namespace any more.
	Lost(name string) bool
	// Suspect has the operator's access to a namespace checked again.
	Suspect(name string)
}

// Reconciler brings what exists in line with what a Bar asks for.
type Reconciler struct {
	Namespaces Namespaces
	Cache      client.Reader // reads Bars and BarClasses from a cache
	Client     client.Client // reads live, writes statuses, deletes
	Writer     apply.Writer  // writes the objects
	Late       *tenancy.LateKinds
	Providers  provider.Set
	Recorder   events.EventRecorder
	holdings   *holdings
}

// Reconcile brings one Bar up to date.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	bar := &v1alpha1.Bar{}
	if err := r.Cache.Get(ctx, request.NamespacedName, bar); err != nil {
		if apierrors.IsNotFound(err) {
			r.holdings.forget(request.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !bar.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // whoever deleted it did not ask for its release; the sweep finds what it made
	}
	w := newWork(r, bar)
	step := w.serve
	if bar.Spec.Release {
		step = w.release
	}
	result, err := step(ctx)
	if !w.claimed {
		r.holdings.leave(bar.Name)
	}
	return retry.Outcome(result, err, func() { r.Namespaces.Suspect(bar.Spec.SourceRef.Namespace) })
}

// serve makes or mends the load balancer: record, plan, act, record what came of it, then take away what is no longer wanted.
func (w *work) serve(ctx context.Context) (reconcile.Result, error) {
	namespace, served := w.Namespaces.Lookup(w.bar.Spec.SourceRef.Namespace)
	if !served {
		return reconcile.Result{}, nil // it comes back when the namespace is served again
	}
	if w.bar.Status.Phase == "" {
		w.next = recorded(w.bar)
		if err := w.write(ctx); err != nil {
			return reconcile.Result{}, err
		}
	}
	observation, err := w.provide(ctx, namespace)
	refusal, err := refusalOf(err)
	if err != nil {
		return reconcile.Result{}, err
	}
	w.next = concluded(w.bar, w.next.Targets, w.parts, observation, refusal)
	if w.parts != nil {
		if err := w.retire(ctx, superseded(w.next.Targets, w.parts, refusal == nil && observation.Ready)); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := w.write(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if _, err := w.clear(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if err := w.write(ctx); err != nil {
		return reconcile.Result{}, err
	}
	return w.result(refusal), nil
}

// provide asks the provider what is needed, makes it so, and asks how it is.
func (w *work) provide(ctx context.Context, namespace *tenancy.Namespace) (provider.Observation, error) {
	class, chosen, err := w.classOf(ctx)
	if err != nil {
		return provider.Observation{}, err
	}
	objects, err := chosen.Desired(w.bar, class)
	if err != nil {
		return provider.Observation{}, err
	}
	parts, err := w.read(ctx, namespace, objects)
	if err != nil {
		return provider.Observation{}, err
	}
	w.parts, w.claimed = parts, true
	if err := w.holdings.claim(ctx, w.bar, parts); err != nil {
		return provider.Observation{}, err
	}
	if err := w.plan(ctx, class); err != nil {
		return provider.Observation{}, err
	}
	live := make([]client.Object, len(w.parts))
	for i := range w.parts {
		part := &w.parts[i]
		if !part.live.GetDeletionTimestamp().IsZero() {
			return terminating(part), nil
		}
		if err := w.ensure(ctx, part); err != nil {
			return provider.Observation{}, err
		}
		live[i] = part.live
	}
	return chosen.Observe(w.bar, class, live), nil
}

// release takes everything away and then deletes the Bar.
func (w *work) release(ctx context.Context) (reconcile.Result, error) {
	namespace := w.bar.Spec.SourceRef.Namespace
	if w.bar.Status.Phase != v1alpha1.PhaseReleasing {
		w.next = releasing(w.bar, w.bar.Status.Targets, nil)
	}
	if w.Namespaces.Lost(namespace) {
		// Nothing can be done there. The objects went with the namespace, or are their source's and go with that; should the namespace come
		// back, the sweep finds them.
		w.next.Targets = nil
	} else if _, served := w.Namespaces.Lookup(namespace); !served {
		return reconcile.Result{RequeueAfter: retry.Jitter(untilServed)}, nil
	}
	if err := w.retire(ctx, everything(w.next.Targets)); err != nil {
		return reconcile.Result{}, err
	}
	if err := w.write(ctx); err != nil {
		return reconcile.Result{}, err
	}
	left, err := w.clear(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	w.next = releasing(w.bar, w.next.Targets, left)
	if err := w.write(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if len(w.next.Targets) > 0 {
		return w.result(nil), nil
	}
	return reconcile.Result{}, w.deleteBar(ctx)
}
