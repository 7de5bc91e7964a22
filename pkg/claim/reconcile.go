package claim

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
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
	// Served gives all namespaces that are served now.
	Served() []*tenancy.Namespace
	// LostSince returns since when the operator has had no business in a namespace, or no access to
	// it; false while it has both.
	LostSince(name string) (time.Time, bool)
	// IsGone returns whether the namespace in which something was made at the given time no longer
	// exists.
	IsGone(ctx context.Context, name string, made metav1.Time) (bool, error)
	// Suspect has the operator's access to a namespace checked again.
	Suspect(name string)
}

// Reconciler brings the Bars of one kind of source in line with what the sources ask for.
type Reconciler struct {
	kind            kind
	namespaces      Namespaces
	systemNamespace string
	cached          client.Reader // Bars, Tenants and BarClasses
	direct          client.Client // reads and writes the API server
	writer          apply.Writer
	recorder        events.EventRecorder
	limits          *limits
	clock           clock.PassiveClock
	pending         *gracePeriods // of Bars that are to be released
	lost            *stopwatches  // of Bars whose namespace is lost
	reports         *reports
}

// Reconcile brings the Bar of one source up to date.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := r.reconcile(ctx, request)
	return retry.Outcome(result, err, func() { r.namespaces.Suspect(request.Namespace) })
}

// reconcile reads the source and its Bar, computes what the source may have, makes, changes or
// releases the Bar, and tells the source.
func (r *Reconciler) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	bar, conflict, err := r.barOf(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	namespace, served := r.namespaces.Lookup(request.Namespace)
	if !served {
		r.limits.forget(r.kind.ref(request.NamespacedName))
		r.reports.forget(request.NamespacedName)
		return r.unserved(ctx, bar)
	}
	now, err := r.assess(ctx, namespace, r.cached, namespace.Tenant, request.NamespacedName)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case bar != nil && now.tenant == nil:
		return r.lookAgain(bar), nil // the Registry is about to hear that the namespace is lost, or whose it is now
	case bar != nil:
		r.lost.stop(bar.UID)
	}
	if conflict != nil && now.spec != nil {
		now.wish = wish{refusal: conflict}
	}
	if now.source == nil {
		r.reports.forget(request.NamespacedName)
	}
	if now.spec == nil || bar != nil {
		r.limits.forget(r.kind.ref(request.NamespacedName))
	}
	out, err := r.ensure(ctx, now, bar)
	if err != nil || now.source == nil {
		return reconcile.Result{}, err
	}
	later, err := r.report(ctx, namespace, now.source, answerFor(out.bar, out.refusal).noting(now.note))
	r.forgetLost(request.Namespace) // it may have been lost in the meantime
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return resultOf(out.refusal, sooner(later, out.after)), nil
}

// situation is what decides about a source's Bar.
type situation struct {
	holder string           // the name of the Tenant that the namespace is served for
	tenant *v1alpha1.Tenant // nil: it is gone, or no longer names the namespace
	source client.Object    // nil: gone, or nobody's; one that is being deleted wishes for nothing
	asks   bool             // whether the source asks for a load balancer, in whatever way
	wish
}

// barOf gives the Bar of a source from the cache, or nil, or says that another source has the name
// that the Bar would have.
func (r *Reconciler) barOf(ctx context.Context, source client.ObjectKey) (*v1alpha1.Bar, *refusal, error) {
	bar := &v1alpha1.Bar{}
	err := r.cached.Get(ctx, client.ObjectKey{Namespace: r.systemNamespace, Name: BarName(r.kind.name, source.Namespace, source.Name)}, bar)
	if err != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	if nameless(bar.Spec.SourceRef) != r.kind.ref(source) {
		// Whose it is, is no business of this source's tenant.
		return nil, refuse(v1alpha1.ReasonConflict, "another source has the same derived name, %s: rename this %s", bar.Name, r.kind.name), nil
	}
	return bar, nil, nil
}

// assess reads what decides about a source's Bar: from the caches, or, before something is taken
// away, from the API server.
func (r *Reconciler) assess(ctx context.Context, sources, tenants client.Reader, tenant string, key client.ObjectKey) (situation, error) {
	now := situation{holder: tenant}
	var err error
	// The Tenant first: without one the operator has no business in the namespace, not even to
	// read.
	if now.tenant, err = r.tenantOf(ctx, tenants, tenant, key.Namespace); err != nil || now.tenant == nil {
		return now, err
	}
	if now.source, err = r.kind.read(ctx, sources, key); err != nil || now.source == nil || isGoing(now.source) || now.tenant.Spec.Leaving {
		return now, err
	}
	className, refusal := classOf(now.source)
	now.asks = className != "" || refusal != nil
	if className == "" {
		now.refusal = refusal
		return now, nil
	}
	class := &v1alpha1.BarClass{}
	err = r.cached.Get(ctx, client.ObjectKey{Name: className}, class)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return now, err
	case err != nil:
		class = nil
	}
	now.wish = wishOf(r.kind, now.source, className, class, now.tenant)
	return now, nil
}

// tenantOf gives the Tenant that a namespace is served for, or nil when it no longer names the
// namespace.
func (r *Reconciler) tenantOf(ctx context.Context, tenants client.Reader, name, namespace string) (*v1alpha1.Tenant, error) {
	tenant := &v1alpha1.Tenant{}
	if err := tenants.Get(ctx, client.ObjectKey{Namespace: r.systemNamespace, Name: name}, tenant); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !tenant.DeletionTimestamp.IsZero() || !slices.Contains(tenant.Spec.Namespaces, namespace) {
		return nil, nil
	}
	return tenant, nil
}

// again are the refusals that pass without an event for the source. Room in a limit is one; it is
// looked for now and then all the same.
var again = []string{v1alpha1.ReasonRefused, v1alpha1.ReasonConflict, v1alpha1.ReasonOverLimit}

// resultOf says when to look again at a source, which may be refused, or has to be told later (0:
// an event will tell).
func resultOf(r *refusal, later time.Duration) reconcile.Result {
	if r != nil && slices.Contains(again, r.reason) {
		later = sooner(later, retry.Jitter(retry.AfterRefusal))
	}
	return reconcile.Result{RequeueAfter: later}
}
