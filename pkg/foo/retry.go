package foo

import (
	"math/rand/v2"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// rateLimiter spaces the retries of each Foo by itself, with jitter, so that a thousand that failed together do not come
// back together. Unlike controller-runtime's default it has no limit that all Foos share.
type rateLimiter struct {
	workqueue.TypedRateLimiter[reconcile.Request]
}

func newRateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return rateLimiter{workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)}
}

// When gives the delay of the next try.
func (r rateLimiter) When(request reconcile.Request) time.Duration {
	return jitter(r.TypedRateLimiter.When(request))
}

// jitter lengthens a delay by up to a fifth.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Int64N(int64(d)/5+1)) //nolint:gosec // spreads load; nothing secret
}
