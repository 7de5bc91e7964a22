package offboard

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
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
		// What the caches say is confirmed live: who reads that nothing is left takes away the operator's rights.
		for _, live := range []bool{false, true} {
			if left, err = r.left(ctx, tenant, live); err != nil {
				return retry.Outcome(reconcile.Result{}, err, func() {})
			}
			if len(left) > 0 {
				break
			}
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
