package retry

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// answers is a Reconciler that answers as a test says.
type answers struct {
	result reconcile.Result
	err    error
}

func (a *answers) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	return a.result, a.err
}

func TestConflictsBackOff(t *testing.T) {
	conflict := apierrors.NewConflict(bars, "x", errors.New("changed"))
	inner := &answers{err: conflict}
	clock := testclock.NewFakeClock(time.Now())
	wrapped := &conflicts{inner: inner, limiter: newRateLimiter(clock)}
	try := func() reconcile.Result {
		t.Helper()
		result, err := wrapped.Reconcile(t.Context(), reconcile.Request{})
		if err != nil {
			t.Fatalf("a conflict is no error to log: %v", err)
		}
		clock.Step(result.RequeueAfter)
		return result
	}
	want := First
	for range 20 {
		inRange(t, try().RequeueAfter, want)
		want = min(2*want, Last)
	}

	inner.err = errors.New("busy")
	if _, err := wrapped.Reconcile(t.Context(), reconcile.Request{}); !errors.Is(err, inner.err) {
		t.Errorf("another error is lost: %v", err)
	}
	inner.err = conflict
	inRange(t, try().RequeueAfter, Last) // another error is no success

	inner.err, inner.result = nil, reconcile.Result{RequeueAfter: time.Minute}
	if result := try(); result != inner.result {
		t.Errorf("the result of a success is lost: %v", result)
	}
	inner.err = conflict
	inRange(t, try().RequeueAfter, First)
}
