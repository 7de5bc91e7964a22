package leader

import (
	"strings"
	"testing"
	"time"
)

func TestTimingsValidate(t *testing.T) {
	cases := map[string]struct {
		reason  string
		timings Timings
		want    []string // parts of the error; none: valid
	}{
		"Defaults": {
			reason:  "The defaults must keep the rules.",
			timings: DefaultTimings,
		},
		"Fast": {
			reason:  "The fast setting of the docs must keep the rules.",
			timings: Timings{LeaseDuration: 3 * time.Second, RenewDeadline: 1500 * time.Millisecond, RetryPeriod: 400 * time.Millisecond},
		},
		"ExactlyAtTheLimit": {
			reason:  "The lease rule is 'at least'.",
			timings: Timings{LeaseDuration: 5 * time.Second, RenewDeadline: 3500 * time.Millisecond, RetryPeriod: 500 * time.Millisecond},
		},
		"LeaseTooShort": {
			reason:  "Kubernetes' own defaults scaled down leave no time for the old leader to stop.",
			timings: Timings{LeaseDuration: 5 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: 500 * time.Millisecond},
			want:    []string{"lease duration 5s must be at least renew deadline + retry period + 1s (5.5s), for example 6s"},
		},
		"LeaseNotWholeSeconds": {
			reason:  "A Lease stores whole seconds; a standby would read a shorter one.",
			timings: Timings{LeaseDuration: 6500 * time.Millisecond, RenewDeadline: 4 * time.Second, RetryPeriod: 500 * time.Millisecond},
			want:    []string{"lease duration 6.5s must be whole seconds, for example 7s"},
		},
		"DeadlineWithinJitteredRetry": {
			reason:  "client-go waits up to 1.2 x retry period, so one slow try would lose the lease.",
			timings: Timings{LeaseDuration: 6 * time.Second, RenewDeadline: 600 * time.Millisecond, RetryPeriod: 500 * time.Millisecond},
			want:    []string{"renew deadline 600ms must be more than 1.2 x retry period (600ms), for example 1s"},
		},
		"Zero": {
			reason:  "All faults are reported at once.",
			timings: Timings{},
			want:    []string{"retry period 0s must be more than 0", "renew deadline 0s must be more than", "lease duration 0s must be at least"},
		},
		"Negative": {
			reason:  "A negative period is a fault, not a shortcut.",
			timings: Timings{LeaseDuration: -6 * time.Second, RenewDeadline: -4 * time.Second, RetryPeriod: -time.Second},
			want:    []string{"retry period -1s must be more than 0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.timings.Validate()
			if len(tc.want) == 0 && err != nil {
				t.Fatalf("%s\nunexpected error: %v", tc.reason, err)
			}
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s\ngot error %v, want it to contain %q", tc.reason, err, want)
				}
			}
		})
	}
}

// The example in an error must itself be valid, or following it leads to the next error.
func TestTimingsExamplesAreValid(t *testing.T) {
	for deadline := 100 * time.Millisecond; deadline < 20*time.Second; deadline += 370 * time.Millisecond {
		timings := Timings{RetryPeriod: deadline / 2, RenewDeadline: deadline}
		timings.LeaseDuration = roundUp(timings.RenewDeadline + timings.RetryPeriod + stopMargin)
		if err := timings.Validate(); err != nil {
			t.Errorf("%+v: %v", timings, err)
		}
	}
}
