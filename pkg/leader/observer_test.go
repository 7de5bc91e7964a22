package leader

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
)

func lease(version, holder string, seconds int32) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: version},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder), LeaseDurationSeconds: ptr.To(seconds)},
	}
}

func TestObserverFree(t *testing.T) {
	type sight struct {
		after time.Duration
		lease *coordinationv1.Lease
	}
	cases := map[string]struct {
		reason string
		sights []sight
		// The Lease must be free at this time after the last sight and not a moment before.
		freeAfter time.Duration
	}{
		"NoLease": {
			reason: "Nobody holds what is not there.",
			sights: []sight{{lease: nil}},
		},
		"NeverHeld": {
			reason: "The chart makes the Lease without a holder.",
			sights: []sight{{lease: &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}}}},
		},
		"Released": {
			reason: "A leader that stops gives the Lease back; nobody has to wait.",
			sights: []sight{{lease: lease("1", "a", 6)}, {after: time.Second, lease: lease("2", "", 1)}},
		},
		"Held": {
			reason:    "A Lease counts from when it was first seen, whatever time it says.",
			sights:    []sight{{lease: lease("1", "a", 6)}},
			freeAfter: 6 * time.Second,
		},
		"SeenAgain": {
			reason:    "What did not change is no sign of life.",
			sights:    []sight{{lease: lease("1", "a", 6)}, {after: 4 * time.Second, lease: lease("1", "a", 6)}},
			freeAfter: 2 * time.Second,
		},
		"Renewed": {
			reason:    "A renewal is.",
			sights:    []sight{{lease: lease("1", "a", 6)}, {after: 4 * time.Second, lease: lease("2", "a", 6)}},
			freeAfter: 6 * time.Second,
		},
		"HeldForADay": {
			reason:    "A Lease that somebody wrote by hand must not stop everything.",
			sights:    []sight{{lease: lease("1", "somebody", 24*60*60)}},
			freeAfter: 30 * time.Second,
		},
		"ShorterThanOurs": {
			reason:    "The holder's own promise counts: it may be of a release with other periods.",
			sights:    []sight{{lease: lease("1", "a", 3)}},
			freeAfter: 3 * time.Second,
		},
		"DeletedAndMadeAgain": {
			reason:    "Made again by its holder, it is held again.",
			sights:    []sight{{lease: lease("1", "a", 6)}, {lease: nil}, {lease: lease("3", "a", 6)}},
			freeAfter: 6 * time.Second,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := testclock.NewFakeClock(time.Now())
			o := newObserver(c, 6*time.Second)
			for _, s := range tc.sights {
				c.Step(s.after)
				o.see(s.lease)
			}
			if tc.freeAfter > 0 {
				c.Step(tc.freeAfter - time.Millisecond)
				if free, _, _ := o.free(); free {
					t.Errorf("%s\nfree before %s", tc.reason, tc.freeAfter)
				}
				c.Step(time.Millisecond)
			}
			if free, _, _ := o.free(); !free {
				t.Errorf("%s\nnot free after %s", tc.reason, tc.freeAfter)
			}
		})
	}
}

// A standby hears of a release at once, however long the Lease would last.
func TestObserverWaitEndsAtRelease(t *testing.T) {
	c := testclock.NewFakeClock(time.Now())
	o := newObserver(c, 6*time.Second)
	o.see(lease("1", "a", 6))
	done := make(chan error, 1)
	go func() { done <- o.wait(t.Context()) }()
	waitFor(t, c.HasWaiters)
	o.see(lease("2", "a", 6)) // a renewal is no reason to return
	waitFor(t, c.HasWaiters)
	select {
	case err := <-done:
		t.Fatalf("returned at a renewal: %v", err)
	default:
	}
	o.see(lease("3", "", 1))
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestObserverWaitEndsWithItsContext(t *testing.T) {
	o := newObserver(testclock.NewFakeClock(time.Now()), 6*time.Second)
	o.see(lease("1", "a", 6))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.wait(ctx); err == nil {
		t.Error("the Lease is held, and yet it returned without an error")
	}
}

// Two machines' clocks never run alike. Up to a tenth apart, the old leader has given up before a standby takes over; further apart they
// overlap, and it is the fence alone that keeps the old one from writing.
func TestClockSkew(t *testing.T) {
	cases := map[string]struct {
		leader, standby float64 // how fast their clocks run
		overlap         bool
	}{
		"Alike":              {leader: 1, standby: 1},
		"LeaderSlow":         {leader: 0.9, standby: 1},
		"StandbyFast":        {leader: 1, standby: 1.1},
		"Both":               {leader: 0.95, standby: 1.05},
		"LeaderFast":         {leader: 1.5, standby: 1},
		"LeaderMuchTooSlow":  {leader: 0.6, standby: 1, overlap: true},
		"LeaderStandsStill":  {leader: 0, standby: 1, overlap: true},
		"StandbyTwiceAsFast": {leader: 1, standby: 2, overlap: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			leading, standing := testclock.NewFakeClock(began), testclock.NewFakeClock(began)
			lock := &Lock{options: Options{Timings: DefaultTimings}, clock: leading, leading: true, renewed: began}
			seen := newObserver(standing, DefaultTimings.LeaseDuration)
			seen.see(lease("1", "a", 6)) // the default

			const step = 10 * time.Millisecond
			var stopped, taken time.Duration
			for now := step; now < time.Minute && (stopped == 0 || taken == 0); now += step {
				leading.SetTime(began.Add(time.Duration(float64(now) * tc.leader)))
				standing.SetTime(began.Add(time.Duration(float64(now) * tc.standby)))
				if _, overdue := lock.overdue(); overdue && stopped == 0 {
					stopped = now
				}
				if free, _, _ := seen.free(); free && taken == 0 {
					taken = now
				}
			}
			if overlap := stopped == 0 || stopped >= taken; overlap != tc.overlap {
				t.Errorf("the old leader stops after %s, the next one begins after %s", stopped, taken)
			}
		})
	}
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}
