package retry

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// conflicts is a Reconciler that tries again after a conflict.
type conflicts struct {
	inner   reconcile.Reconciler
	limiter workqueue.TypedRateLimiter[reconcile.Request]
}

// OnConflict wraps a Reconciler: a conflict becomes another try, each later than the one before
// until a reconcile succeeds. A conflict says that a cache lags behind, which is no error to log.
// It needs a rate limiter of its own because a controller logs all that it gives to its rate
// limiter, and forgets what a Reconciler requeues itself.
func OnConflict(inner reconcile.Reconciler) reconcile.Reconciler {
	return &conflicts{inner: inner, limiter: NewRateLimiter()}
}

// Reconcile reconciles one object.
func (c *conflicts) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := c.inner.Reconcile(ctx, request)
	switch {
	case err == nil:
		c.limiter.Forget(request)
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: c.limiter.When(request)}, nil
	}
	return result, err
}
