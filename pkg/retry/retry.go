// Package retry says which errors of the API server may pass, and when to try again.
package retry

import (
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/controlee/controlee/pkg/leader"
)

// Delays between two tries of one object after a passing error, doubled from First to Last.
const (
	First = 100 * time.Millisecond
	Last  = 2 * time.Minute
)

// AfterRefusal is how long an object waits after the API server refused what it needs. Quota that becomes free and a
// policy that is changed send the controllers no event.
const AfterRefusal = time.Minute

// rateLimiter spaces the retries of each object by itself, with jitter, so that a thousand that failed together do not come
// back together. Unlike controller-runtime's default it has no limit that all objects share.
type rateLimiter struct {
	workqueue.TypedRateLimiter[reconcile.Request]
}

// NewRateLimiter makes a controller's rate limiter.
func NewRateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return rateLimiter{workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](First, Last)}
}

// When gives the delay of the next try.
func (r rateLimiter) When(request reconcile.Request) time.Duration {
	return Jitter(r.TypedRateLimiter.When(request))
}

// Jitter lengthens a delay by up to a fifth.
func Jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Int64N(int64(d)/5+1)) //nolint:gosec // spreads load; nothing secret
}

// Soon asks for another try without a word: after a conflict the cache lags behind, which is no reason to complain.
func Soon() reconcile.Result {
	return reconcile.Result{RequeueAfter: Jitter(First)}
}

// LacksRight says whether the authorizer refused a request, and not an admission plugin: quota, Pod Security and policies
// answer Forbidden as well, but only the authorizer says who cannot do what.
func LacksRight(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `" cannot `)
}

// IsRefusal says whether the API server will refuse the same request again until something else changes: quota, a policy,
// validation, size. What the fence refuses is not the object's fault: this replica no longer leads, or has just begun to.
func IsRefusal(err error) bool {
	return err != nil && !LacksRight(err) && !leader.IsFenced(err) &&
		(apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || isTooLarge(err))
}

// IsTerminating says whether a namespace takes no new objects because it is being deleted.
func IsTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// isTooLarge says whether an object is larger than the API server takes, or than its store does; the latter comes as an
// internal error, with the store's words.
func isTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "etcdserver: request is too large")
}

// Outcome turns what the reconcile of a tenant's object ended with into what its controller does next. A missing right has the
// operator's access to the namespace checked again: suspect does that.
func Outcome(result reconcile.Result, err error, suspect func()) (reconcile.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return Soon(), nil
	case LacksRight(err):
		suspect()
	}
	return result, err
}
