package claim

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// unknown knows a namespace that is not served, and not yet whether it is lost.
type unknown struct{ Namespaces }

func (unknown) Lookup(string) (*tenancy.Namespace, bool) { return nil, false }

func (unknown) LostSince(string) (time.Time, bool) { return time.Time{}, false }

// A grace period ends when the namespace is lost and begins anew when it is served again, because a
// request that came back meanwhile, such as that of a Foo, may not have reached the source yet.
func TestALostNamespaceEndsTheGracePeriod(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r := &Reconciler{namespaces: unknown{}, clock: clock, pending: newGracePeriods(clock), lost: newStopwatches(clock)}
	bar := &v1alpha1.Bar{}
	bar.UID = types.UID("uid-bar")
	r.pending.run(bar.UID, time.Minute, v1alpha1.ReasonOptedOut)
	clock.SetTime(clock.Now().Add(time.Hour))
	if result, err := r.unserved(t.Context(), bar); err != nil || result.RequeueAfter == 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	if _, deadline := r.pending.run(bar.UID, time.Minute, v1alpha1.ReasonOptedOut); !deadline.Equal(clock.Now().Add(time.Minute)) {
		t.Errorf("the grace period still ends at %s, it is %s", deadline, clock.Now())
	}
}
