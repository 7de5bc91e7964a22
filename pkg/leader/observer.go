package leader

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// longestLease is the longest duration of a Lease that is believed: a replica of another version may have a longer one than this
// replica, but a Lease that somebody wrote by hand must not keep everybody waiting for a day.
const longestLease = 30 * time.Second

// observer remembers the Lease as this replica last saw it, and when it last saw it change, by this replica's own clock: the times
// in the Lease are another machine's.
type observer struct {
	clock clock.WithTicker
	own   time.Duration // this replica's lease duration

	mu      sync.Mutex
	version string
	holder  string
	lasts   time.Duration
	changed time.Time
	signal  chan struct{} // closed at a change
}

func newObserver(c clock.WithTicker, own time.Duration) *observer {
	return &observer{clock: c, own: own, signal: make(chan struct{})}
}

// see takes in the Lease as it was read or as a watch tells it; nil says that there is none.
func (o *observer) see(lease *coordinationv1.Lease) {
	version, holder, lasts := "", "", time.Duration(0)
	if lease != nil {
		version, holder = lease.ResourceVersion, ptr.Deref(lease.Spec.HolderIdentity, "")
		lasts = time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if version == o.version && !o.changed.IsZero() {
		return
	}
	o.version, o.holder, o.changed = version, holder, o.clock.Now()
	o.lasts = min(lasts, max(longestLease, o.own))
	close(o.signal)
	o.signal = make(chan struct{})
}

// free says whether the Lease, as it was last seen, can be taken: nobody holds it, or whoever does gave no sign of life for as long
// as it promised. The channel tells of the next change, the duration when it can be taken if there is none.
func (o *observer) free() (free bool, wait time.Duration, change <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	wait = o.changed.Add(o.lasts).Sub(o.clock.Now())
	return o.holder == "" || wait <= 0, wait, o.signal
}

// wait returns when the Lease can be taken.
func (o *observer) wait(ctx context.Context) error {
	for {
		free, left, change := o.free()
		if free {
			return nil
		}
		timer := o.clock.NewTimer(left)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-change:
		case <-timer.C():
		}
		timer.Stop()
	}
}
