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
	r := &Reconciler{namespaces: unknown{}, clock: clock, pending: newStopwatches(clock), lost: newStopwatches(clock)}
	bar := &v1alpha1.Bar{}
	bar.UID = types.UID("uid-bar")
	r.pending.begin(bar.UID)
	clock.SetTime(clock.Now().Add(time.Hour))
	if result, err := r.unserved(t.Context(), bar); err != nil || result.RequeueAfter == 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	if begun := r.pending.begin(bar.UID); !begun.Equal(clock.Now()) {
		t.Errorf("the grace period still counts from %s, it is %s", begun, clock.Now())
	}
}
