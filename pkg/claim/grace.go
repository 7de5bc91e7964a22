package claim

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// stopwatches measures how long something has been true of each Bar, by its UID. They run in this
// process alone: a new leader measures anew, because its clock may differ from that of the leader
// before it, and because it may not have seen yet what would stop the measurement.
type stopwatches struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	begun  map[types.UID]time.Time
	graces map[types.UID]time.Duration // the grace periods that were promised
}

func newStopwatches(c clock.PassiveClock) *stopwatches {
	return &stopwatches{clock: c, begun: map[types.UID]time.Time{}, graces: map[types.UID]time.Duration{}}
}

// begin starts the stopwatch of a Bar, unless it runs, and returns when it was started.
func (s *stopwatches) begin(bar types.UID) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	begun, runs := s.begun[bar]
	if !runs {
		begun = s.clock.Now()
		s.begun[bar] = begun
	}
	return begun
}

// stop stops the stopwatch of a Bar.
func (s *stopwatches) stop(bar types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.begun, bar)
	delete(s.graces, bar)
}

// promise records the grace period of a Bar's BarClass, which may change while it runs, and returns
// it. Without a class it returns what was promised while there was one, and at least the default:
// a class that is deleted and created again must not cut a grace period short.
func (s *stopwatches) promise(bar types.UID, class *v1alpha1.BarClass) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	grace := class.ReleaseGracePeriod()
	if class == nil {
		grace = max(grace, s.graces[bar])
	}
	s.graces[bar] = grace
	return grace
}
