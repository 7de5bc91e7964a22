package offboard

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// again is when to look again at what is left, should no event say that it has gone.
const again = 30 * time.Second

// Namespaces knows which namespaces are served.
type Namespaces interface {
	// Lookup gives a namespace that is served now.
	Lookup(name string) (*tenancy.Namespace, bool)
}

// Reconciler writes the condition Released of Tenants.
type Reconciler struct {
	Namespaces Namespaces
	Cache      client.Reader // reads Tenants and Bars from a cache
	Client     client.Client // reads live, writes statuses
	Late       *tenancy.LateKinds
	Kinds      []tenancy.LateKind // that Bars are made into besides Services
	// SystemNamespace is where Tenants and Bars are.
	SystemNamespace string
}

// Reconcile writes the condition of one Tenant, if it differs.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	tenant := &v1alpha1.Tenant{}
	if err := r.Cache.Get(ctx, request.NamespacedName, tenant); err != nil || !tenant.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var left []string
	if tenant.Spec.Leaving {
		var err error
		if left, err = r.confirmed(ctx, tenant); err != nil {
			return retry.Outcome(reconcile.Result{}, err, func() {})
		}
	}
	result := reconcile.Result{}
	if len(left) > 0 {
		result.RequeueAfter = retry.Jitter(again)
	}
	status := desiredStatus(tenant, left)
	if equality.Semantic.DeepEqual(status, tenant.Status) {
		return result, nil
	}
	changed := tenant.DeepCopy()
	changed.Status = status
	err := r.Client.Status().Patch(ctx, changed, client.MergeFromWithOptions(tenant, client.MergeFromWithOptimisticLock{}))
	return retry.Outcome(result, client.IgnoreNotFound(err), func() {})
}

// confirmed returns what is left of a Tenant's load balancers. It reads the caches, and then the
// API server, because an admin who reads that nothing is left takes away the operator's rights.
// What was confirmed once for the present spec is not read again: a Tenant may stay for years after
// its release, and every event in its namespaces requeues it.
func (r *Reconciler) confirmed(ctx context.Context, tenant *v1alpha1.Tenant) ([]string, error) {
	left, err := r.left(ctx, tenant, false)
	if err != nil || len(left) > 0 || isReleased(tenant) {
		return left, err
	}
	return r.left(ctx, tenant, true)
}

// isReleased returns whether the condition Released is True for the present spec of a Tenant.
func isReleased(tenant *v1alpha1.Tenant) bool {
	released := meta.FindStatusCondition(tenant.Status.Conditions, v1alpha1.TenantReleased)
	return released != nil && released.Status == metav1.ConditionTrue && released.ObservedGeneration == tenant.Generation
}
