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

// gracePeriods counts the grace period of each Bar whose release is pending, for each reason by
// itself: a source that opts out and in again must not make the grace period of a class that is no
// longer allowed begin anew, nor does one reason inherit the time of the other.
type gracePeriods struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	bars map[types.UID]map[string]gracePeriod // by reason
}

type gracePeriod struct {
	begun    time.Time
	deadline time.Time
}

func newGracePeriods(c clock.PassiveClock) *gracePeriods {
	return &gracePeriods{clock: c, bars: map[types.UID]map[string]gracePeriod{}}
}

// run runs the grace periods of a Bar for the reasons that apply now, and for no others. It returns
// the first deadline with its reason. A deadline is never moved to an earlier time, because the
// tenant was told: neither by a shorter grace period, nor because the BarClass that sets it is
// missing.
func (g *gracePeriods) run(bar types.UID, grace time.Duration, reasons ...string) (reason string, deadline time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	running := map[string]gracePeriod{}
	for _, r := range reasons {
		period, runs := g.bars[bar][r]
		if !runs {
			period.begun = g.clock.Now()
		}
		if later := period.begun.Add(grace); later.After(period.deadline) {
			period.deadline = later
		}
		running[r] = period
		if reason == "" || period.deadline.Before(deadline) {
			reason, deadline = r, period.deadline
		}
	}
	g.bars[bar] = running
	return reason, deadline
}

// stop ends the grace periods of a Bar.
func (g *gracePeriods) stop(bar types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.bars, bar)
}
