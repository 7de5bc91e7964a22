package retry

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// inRange checks that a delay is the wanted one, or longer by the jitter.
func inRange(t *testing.T, got, want time.Duration) {
	t.Helper()
	if got < want || got > want*6/5 {
		t.Fatalf("%s, want %s and up to a fifth more", got, want)
	}
}

func TestRateLimiter(t *testing.T) {
	clock := testclock.NewFakeClock(time.Now())
	limiter := newRateLimiter(clock)
	one, other := reconcile.Request{}, reconcile.Request{}
	other.Name = "other"
	failures := 0
	for want := First; want < Last; want *= 2 {
		delay := limiter.When(one)
		inRange(t, delay, want)
		clock.Step(delay)
		failures++
	}
	last := limiter.When(one)
	inRange(t, last, Last)
	clock.Step(last)
	inRange(t, limiter.When(one), Last)
	inRange(t, limiter.When(other), First)
	if got := limiter.NumRequeues(one); got != failures+2 {
		t.Errorf("%d failures counted, want %d", got, failures+2)
	}
	limiter.Forget(one)
	inRange(t, limiter.When(one), First)
	if got := limiter.NumRequeues(one); got != 1 {
		t.Errorf("%d failures counted after a success, want 1", got)
	}
}

// TestEventsDuringAFault simulates a controller whose object gets an event every 50 ms while the
// API server fails: each event is a try that fails, beside the tries that the limiter asks for.
// When the fault is over and the events are, the next try must not be further away than the fault
// was long.
func TestEventsDuringAFault(t *testing.T) {
	for _, fault := range []time.Duration{time.Second, 6 * time.Second, 30 * time.Second} {
		clock := testclock.NewFakeClock(time.Now())
		limiter := newRateLimiter(clock)
		request := reconcile.Request{}
		end := clock.Now().Add(fault)
		var retry time.Time // when the queue gives out the object by itself
		for clock.Now().Before(end) {
			delay := limiter.When(request)
			if at := clock.Now().Add(delay); retry.Before(clock.Now()) || at.Before(retry) {
				retry = at // a queue keeps the earlier one of two times
			}
			next := clock.Now().Add(50 * time.Millisecond)
			if retry.After(clock.Now()) && retry.Before(next) {
				next = retry
			}
			clock.SetTime(next)
		}
		if rest := retry.Sub(clock.Now()); rest > (fault+First)*6/5 {
			t.Errorf("after a fault of %s the next try is %s away", fault, rest)
		}
	}
}
