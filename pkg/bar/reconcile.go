package bar

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

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
	// Served returns all namespaces that are served now.
	Served() []*tenancy.Namespace
	// LostSince returns since when a namespace is lost, and false while it is not, or that is not
	// known yet.
	LostSince(name string) (time.Time, bool)
	// Assigned returns whether a namespace is a Tenant's, or that is not known yet.
	Assigned(name string) bool
	// Synced returns an error until the caches of all namespaces that can be served were filled
	// once.
	Synced(request *http.Request) error
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
	Now        func() time.Time
	owners     *owners
	read       sync.Map // the *tenancy.Namespace by cachedKind whose objects the owners know
}

// Reconcile brings one Bar up to date.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	bar := &v1alpha1.Bar{}
	if err := r.Cache.Get(ctx, request.NamespacedName, bar); err != nil {
		if apierrors.IsNotFound(err) {
			err = r.forgetMissing(ctx, request.NamespacedName)
		}
		return reconcile.Result{}, err
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
		r.owners.leave(bar.Name)
	}
	if !w.claimed || err == nil {
		err = errors.Join(err, w.dropUnused(ctx))
	}
	if err != nil {
		result = reconcile.Result{}
	}
	if errors.Is(err, errNotSynced) {
		return reconcile.Result{RequeueAfter: retry.Jitter(untilSynced)}, nil
	}
	return retry.Outcome(result, err, func() { r.Namespaces.Suspect(bar.Spec.SourceRef.Namespace) })
}

// serve makes or mends the load balancer: record, plan, act, record what came of it, then take away
// what is no longer wanted.
func (w *work) serve(ctx context.Context) (reconcile.Result, error) {
	namespace, served := w.Namespaces.Lookup(w.bar.Spec.SourceRef.Namespace)
	if !served {
		return w.wait(ctx)
	}
	if w.bar.Status.Phase == "" {
		w.next = recorded(w.bar)
		if err := w.write(ctx); err != nil {
			return reconcile.Result{}, err
		}
	}
	w.namespace = namespace
	observation, failure := w.provide(ctx, namespace)
	refusal, err := refusalOf(failure)
	if err != nil {
		return reconcile.Result{}, err
	}
	w.next = concluded(w.bar, w.next.Targets, w.parts, observation, refusal)
	var leaving []v1alpha1.BarTarget
	if w.parts != nil {
		leaving = superseded(w.next.Targets, w.parts, refusal == nil && observation.Ready)
		err = w.retire(ctx, leaving)
	}
	yielding := w.yielding(failure)
	if len(yielding) > 0 {
		w.next.Addresses = nil // the name is another Bar's now
	}
	err = errors.Join(err, w.retire(ctx, yielding))
	hindrances := w.hindrances(slices.Concat(leaving, yielding))
	w.next = hindered(w.next, hindrances)
	// The new load balancer may be ready, whatever becomes of the old one, so an error above comes
	// after the status.
	if writeErr := w.write(ctx); writeErr != nil {
		return reconcile.Result{}, errors.Join(writeErr, err)
	}
	_, clearErr := w.clear(ctx)
	if writeErr := w.write(ctx); writeErr != nil {
		return reconcile.Result{}, errors.Join(writeErr, err, clearErr)
	}
	if err := errors.Join(err, clearErr); err != nil {
		return reconcile.Result{}, err
	}
	return w.result(refusal, hindrances), nil
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
	w.parts = parts
	if err := w.acquire(ctx); err != nil {
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

// yielding returns the targets that use a name which another Bar has had for longer, even if they
// have served.
func (w *work) yielding(failure error) []v1alpha1.BarTarget {
	var taken *takenError
	if !errors.As(failure, &taken) || !taken.lost {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.next.Targets), func(target v1alpha1.BarTarget) bool {
		return target.Holds != taken.name || target.State == v1alpha1.TargetDeleting
	})
}

// wait keeps a Bar whose namespace is not served as it is, until the namespace is served again or
// gone.
func (w *work) wait(ctx context.Context) (reconcile.Result, error) {
	gone, result, err := w.outOfReach(ctx)
	if err != nil || !gone {
		return result, err
	}
	w.next = namespaceGone(w.bar)
	return reconcile.Result{RequeueAfter: retry.Jitter(untilLookedAgain)}, w.write(ctx)
}

// release takes everything away and then deletes the Bar.
func (w *work) release(ctx context.Context) (reconcile.Result, error) {
	targets := w.bar.Status.Targets
	namespace, served := w.Namespaces.Lookup(w.bar.Spec.SourceRef.Namespace)
	w.namespace = namespace
	if !served && len(targets) > 0 {
		gone, result, err := w.outOfReach(ctx)
		if err != nil || !gone {
			return result, err
		}
		targets = nil
	}
	if w.bar.Status.Phase != v1alpha1.PhaseReleasing || w.bar.IsNamespaceLost() {
		w.next = releasing(w.bar, targets, nil, nil)
	}
	w.next.Targets = targets
	err := w.retire(ctx, everything(w.next.Targets))
	if writeErr := w.write(ctx); writeErr != nil {
		return reconcile.Result{}, errors.Join(writeErr, err)
	}
	left, clearErr := w.clear(ctx)
	hindrances := slices.Concat(w.hindrances(w.next.Targets), w.refused)
	if clearErr == nil || len(hindrances) > 0 {
		w.next = releasing(w.bar, w.next.Targets, left, hindrances)
	}
	if writeErr := w.write(ctx); writeErr != nil {
		return reconcile.Result{}, errors.Join(writeErr, err, clearErr)
	}
	if err := errors.Join(err, clearErr); err != nil {
		return reconcile.Result{}, err
	}
	if len(w.next.Targets) > 0 {
		return w.result(nil, hindrances), nil
	}
	return reconcile.Result{}, w.deleteBar(ctx)
}
