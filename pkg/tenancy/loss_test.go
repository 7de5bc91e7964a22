package tenancy

import (
	"testing"
	"time"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// A loss begins when the namespace leaves the assignment or the operator is refused there, and it
// ends only when the namespace is served.
func TestLostSince(t *testing.T) {
	now := time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)
	r := NewRegistry(Options{Late: NewLateKinds(nil, nil)})
	r.losses.now = func() time.Time { return now }
	var notified []string
	r.NotifyLoss(func(namespace string) { notified = append(notified, namespace) })
	expect := func(step string, want time.Duration, lost bool) {
		t.Helper()
		since, got := r.LostSince("team-a")
		if got != lost || lost && now.Sub(since) != want {
			t.Errorf("%s: lost %v since %s, want %v since %s", step, got, now.Sub(since), lost, want)
		}
	}
	tick := func() { now = now.Add(time.Second) }
	assigned := Assignment{Tenants: map[string]string{"team-a": "a"}}
	engagement := func() *engagement { return r.engagements["team-a"] }
	denied := State{State: v1alpha1.NamespaceRefused, Reason: v1alpha1.ReasonAccessDenied}

	expect("before the Tenants are read", 0, false)
	r.Assign(Assignment{})
	tick()
	expect("never assigned: since the Tenants were read", time.Second, true)
	r.Assign(assigned)
	expect("assigned", 0, false)
	old := engagement()
	r.set(old, State{State: v1alpha1.NamespaceEngaged}, &Namespace{Name: "team-a"})
	expect("served", 0, false)
	tick()
	r.Assign(Assignment{})
	tick()
	r.set(old, State{State: v1alpha1.NamespaceEngaged, Message: "late"}, &Namespace{Name: "team-a"})
	expect("no longer assigned, and the old engagement ends late", time.Second, true)
	r.Assign(assigned)
	tick()
	r.set(engagement(), denied, nil)
	expect("assigned again and refused: it was not served in between", 2*time.Second, true)
	r.set(engagement(), State{State: v1alpha1.NamespaceEngaged}, &Namespace{Name: "team-a"})
	expect("served again", 0, false)
	tick()
	r.set(engagement(), denied, nil)
	tick()
	expect("refused again", time.Second, true)
	if len(notified) < 4 {
		t.Errorf("notified of %q", notified)
	}
}
