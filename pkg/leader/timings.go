package leader

import (
	"errors"
	"fmt"
	"time"
)

// Timings are the three periods of leader election.
type Timings struct {
	// LeaseDuration is how long a standby waits after the last renewal it saw before it takes the Lease.
	// Whole seconds: the Lease stores nothing finer.
	LeaseDuration time.Duration
	// RenewDeadline is how long a leader that cannot renew goes on before it gives up and exits.
	RenewDeadline time.Duration
	// RetryPeriod is the time between two tries to renew or to take the Lease.
	RetryPeriod time.Duration
}

// DefaultTimings lose a dead leader in at most 7.5 s and ride out an API server that stalls for under 4 s.
var DefaultTimings = Timings{LeaseDuration: 6 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: 500 * time.Millisecond}

const (
	// stopMargin is what an old leader gets to stop in after its renew deadline, before a new one can start.
	stopMargin = time.Second
	// jitterFactor is client-go's leaderelection.JitterFactor: it waits up to this much longer than RetryPeriod.
	jitterFactor = 1.2
)

// Validate checks the periods against each other. Each error gives the rule and a value that keeps it.
func (t Timings) Validate() error {
	var errs []error
	if t.RetryPeriod <= 0 {
		errs = append(errs, fmt.Errorf("retry period %s must be more than 0, for example %s", t.RetryPeriod, DefaultTimings.RetryPeriod))
	}
	if limit := time.Duration(jitterFactor * float64(t.RetryPeriod)); t.RenewDeadline <= limit {
		errs = append(errs, fmt.Errorf("renew deadline %s must be more than 1.2 x retry period (%s), for example %s",
			t.RenewDeadline, limit, roundUp(limit+1)))
	}
	if least := t.RenewDeadline + t.RetryPeriod + stopMargin; t.LeaseDuration < least {
		errs = append(errs, fmt.Errorf("lease duration %s must be at least renew deadline + retry period + 1s (%s), for example %s",
			t.LeaseDuration, least, roundUp(least)))
	}
	if t.LeaseDuration%time.Second != 0 {
		errs = append(errs, fmt.Errorf("lease duration %s must be whole seconds, for example %s", t.LeaseDuration, roundUp(t.LeaseDuration)))
	}
	return errors.Join(errs...)
}

// roundUp gives the next whole second.
func roundUp(d time.Duration) time.Duration {
	if d < time.Second {
		return time.Second
	}
	return (d + time.Second - 1).Truncate(time.Second)
}
