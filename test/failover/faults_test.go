package failover

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// The API server stalls, answers late, and restarts: how often the leader changes. A stall under the renew deadline (4 s) must not
// cost the leadership.
func TestAPIServerFaults(t *testing.T) {
	since := time.Now()
	startLoad(t)
	line := startSlowLine(t, shared.APIServer.URL)
	all := startReplicas(t, 2, defaults, line.URL)
	stop := keepRunning(t, all)
	defer stop()

	stall := func(d time.Duration) func() {
		return func() {
			if err := shared.APIServer.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			time.Sleep(d)
			if err := shared.APIServer.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
		}
	}
	slow := 2 * time.Minute
	if os.Getenv("FAILOVER_N") == "" {
		slow = 8 * time.Second
	}
	for _, fault := range []struct {
		name     string
		do       func()
		harmless bool // the leader must stay
	}{
		{name: "API server stalled for 1.5 s", do: stall(1500 * time.Millisecond), harmless: true},
		{name: "API server stalled for 3 s", do: stall(3 * time.Second), harmless: true},
		{name: "API server stalled for 8 s", do: stall(8 * time.Second)},
		{name: "all calls delayed by 1 s for " + slow.String(), harmless: true, do: func() {
			line.delay.Store(int64(time.Second))
			time.Sleep(slow)
			line.delay.Store(0)
		}},
		{name: "API server restarted", do: func() {
			shared.APIServer.Kill()
			if err := shared.APIServer.Start(); err != nil {
				t.Fatal(err)
			}
			if err := shared.APIServer.WaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		_, before := all.leading(t, 0, time.Minute)
		fault.do()
		time.Sleep(7 * time.Second) // past any lease
		_, after := all.leading(t, before, time.Minute)
		note(t, "%-42s %d changes of leader", fault.name, after-before)
		if fault.harmless && after != before {
			t.Errorf("%s: %d changes of leader, want none", fault.name, after-before)
		}
	}
	verdict(t, since, 0)
}

// keepRunning starts each replica again a moment after it ended, as a kubelet would.
func keepRunning(t *testing.T, all replicas) (stop func()) {
	t.Helper()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(500 * time.Millisecond):
			}
			for _, replica := range all {
				if !replica.Running() {
					if err := replica.Start(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
