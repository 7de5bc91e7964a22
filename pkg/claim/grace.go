package claim

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// stopwatches measures how long something has been true of each Bar, by its UID. They run in this
// process alone: a new leader measures anew, because its clock may differ from that of the leader
// before it, and because it may not have seen yet what would stop the measurement.
type stopwatches struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	begun map[types.UID]time.Time
}

func newStopwatches(c clock.PassiveClock) *stopwatches {
	return &stopwatches{clock: c, begun: map[types.UID]time.Time{}}
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
}
