package retry

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Delays between two tries of one object after a passing error, doubled from First to Last.
const (
	First = 100 * time.Millisecond
	Last  = 2 * time.Minute
)

// rateLimiter spaces the retries of each object by itself, with jitter, so that a thousand objects
// that failed together do not come back together. Unlike controller-runtime's default it has no
// limit that all objects share, and it counts at most one failure for each delay: the events of a
// fault bring more tries than the delays do, and if each of these counted, a fault of seconds would
// be followed by minutes without a try.
type rateLimiter struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	backOffs map[reconcile.Request]backOff
}

// backOff is the state of one object that fails.
type backOff struct {
	failures int
	until    time.Time // the end of the delay after the last failure that counted
}

// NewRateLimiter makes the rate limiter of a controller.
func NewRateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return newRateLimiter(clock.RealClock{})
}

func newRateLimiter(now clock.PassiveClock) *rateLimiter {
	return &rateLimiter{clock: now, backOffs: map[reconcile.Request]backOff{}}
}

// When gives the delay of the next try: the rest of the present delay, or, if that has elapsed, the
// next longer one.
func (r *rateLimiter) When(request reconcile.Request) time.Duration {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.backOffs[request]
	if rest := state.until.Sub(now); rest > 0 {
		return rest
	}
	delay := Jitter(Doubled(First, Last, state.failures))
	r.backOffs[request] = backOff{failures: state.failures + 1, until: now.Add(delay)}
	return delay
}

// Forget ends the back-off of an object.
func (r *rateLimiter) Forget(request reconcile.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.backOffs, request)
}

// NumRequeues gives the number of failures of an object that counted.
func (r *rateLimiter) NumRequeues(request reconcile.Request) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.backOffs[request].failures
}

// Doubled gives the delay after a number of earlier delays, each of which was twice the one before.
func Doubled(first, last time.Duration, earlier int) time.Duration {
	delay := first
	for range earlier {
		if delay >= last {
			break
		}
		delay *= 2
	}
	return min(delay, last)
}

// Jitter lengthens a delay by up to a fifth.
func Jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Int64N(int64(d)/5+1)) //nolint:gosec // spreads load; nothing secret
}
