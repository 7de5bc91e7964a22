package failover

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/controlee/controlee/pkg/leader"
	"github.com/controlee/controlee/test/cluster"
)

// What can happen to a leader.
var (
	terminate = func(p *cluster.OperatorProcess) error { return p.Signal(syscall.SIGTERM) }
	kill      = func(p *cluster.OperatorProcess) error { p.Kill(); return nil }
	restart   = func(p *cluster.OperatorProcess) error { p.Kill(); return p.Start() }
	pause     = func(p *cluster.OperatorProcess) error { return p.Signal(syscall.SIGSTOP) }
)

// The leader is told to stop, restarted in its Pod, killed for good, and paused past its lease, over and over, under load: no write of
// an old one is accepted after the first one of its successor.
func TestHandovers(t *testing.T) {
	since := time.Now()
	startLoad(t)
	made := runSeries(t, defaults, startReplicas(t, 3, defaults), []*series{
		{name: "SIGTERM", goal: time.Second, down: terminate, share: 4},
		{name: "SIGKILL, restart in the same Pod", goal: 3 * time.Second, down: restart, share: 1},
		{name: "SIGKILL for good", goal: 7500 * time.Millisecond, down: kill, share: .2},
		{name: "SIGSTOP past the lease, then SIGCONT", goal: 7500 * time.Millisecond, down: pause, paused: true, share: .2},
	})
	verdict(t, since, made)
}

// The same at the fast setting.
func TestHandoversAtTheFastSetting(t *testing.T) {
	since := time.Now()
	startLoad(t)
	made := runSeries(t, fast, startReplicas(t, 3, fast), []*series{
		{name: "SIGTERM", goal: time.Second, down: terminate, share: 2},
		{name: "SIGKILL, restart in the same Pod", goal: 3 * time.Second, down: restart, share: .5},
		{name: "SIGKILL for good", goal: 4500 * time.Millisecond, down: kill, share: .75},
		{name: "SIGSTOP past the lease, then SIGCONT", goal: 4500 * time.Millisecond, down: pause, paused: true, share: .75},
	})
	verdict(t, since, made)
}

// The leader is on one API server and the next one on the other.
func TestTwoAPIServers(t *testing.T) {
	second, err := shared.AddAPIServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Stop(); err != nil {
			t.Error(err)
		}
	})
	audit.servers = append(audit.servers, second)
	waitEnforced(t, second.URL)
	since := time.Now()
	startLoad(t)
	made := runSeries(t, fast, startReplicas(t, 2, fast, shared.APIServer.URL, second.URL), []*series{
		{name: "two API servers, SIGTERM", goal: time.Second, down: terminate, share: .5},
		{name: "two API servers, SIGKILL for good", goal: 4500 * time.Millisecond, down: kill, share: .15},
		{name: "two API servers, SIGSTOP, then SIGCONT", goal: 4500 * time.Millisecond, down: pause, paused: true, share: .3},
	})
	verdict(t, since, made)
}

// Without the fence the same pauses let an old leader write: the proof that the other tests can fail. The first stale write is enough.
func TestWithoutTheFenceStaleWritesAreAccepted(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := shared.UpgradeChart(ctx, release(false)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := shared.UpgradeChart(ctx, release(true)); err != nil {
			t.Error(err)
		}
	})
	since := time.Now()
	startLoad(t)
	all := startReplicas(t, 2, fast)
	const most = 60 // on an idle machine an old leader finds out so fast that one in ten writes before
	for n := 1; n <= most; n++ {
		runSeries(t, fast, all, []*series{
			// It wakes up when its successor has begun to write.
			{name: "without the fence, SIGSTOP, then SIGCONT", goal: 4500 * time.Millisecond, down: pause, paused: true, asleep: 500 * time.Millisecond},
		})
		if found := judge(t, since); len(found) > 0 {
			note(t, "without the fence: %d stale writes accepted in %d pauses, such as\n%s", len(found), n, describe(found[:1]))
			return
		}
	}
	t.Fatalf("no stale write was accepted in %d pauses without the fence: the test does not show what the fence is for", most)
}

// verdict fails the test for each stale write that was accepted.
func verdict(t *testing.T, since time.Time, made int) {
	t.Helper()
	found := judge(t, since)
	note(t, "%d handovers: %d stale writes accepted, %d refused by the fence in all so far", made, len(found), audit.refused)
	if len(found) > 0 {
		t.Errorf("stale writes:\n%s", describe(found))
	}
}

// runSeries makes the handovers of each kind, FAILOVER_N times its share, mixed at random, and reports them. It returns their number.
func runSeries(t *testing.T, set timings, all replicas, kinds []*series) int {
	t.Helper()
	var plan []*series
	for _, kind := range kinds {
		for range count(t, kind.share) {
			plan = append(plan, kind)
		}
	}
	rand.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
	current, epoch := all.leading(t, 0, time.Minute)
	waitWritten(t, epoch, 0) // the Fence names a leader a moment before it leads
	unasked := 0
	for _, kind := range plan {
		all.revive(t)
		if latest, e := all.leading(t, epoch, time.Minute); e != epoch {
			unasked++
			t.Logf("before %s: another change of leader, from epoch %d to %d, that nobody asked for; the end of the log of %s:\n%s",
				kind.name, epoch, e, current.PodName, current.LogTail(30))
			current, epoch = latest, e
			waitWritten(t, epoch, 0)
		}
		began, before := time.Now(), len(audit.writes)
		if err := kind.down(current); err != nil {
			t.Fatal(err)
		}
		if kind.paused {
			wakeUp(t, current, kind.asleep)
		}
		next, nextEpoch := all.leading(t, epoch+1, time.Minute)
		kind.handovers = append(kind.handovers, handover{began: began, epoch: nextEpoch})
		if next != current {
			waitEnded(t, current)
		}
		waitWritten(t, nextEpoch, before)
		current, epoch = next, nextEpoch
	}
	report(t, set, kinds)
	// A machine that is busy with something else can cost a leader its lease. Often, it is the election's fault.
	if unasked > 1+len(plan)/20 {
		t.Errorf("%d changes of leader in %d handovers that nobody asked for", unasked, len(plan))
	}
	return len(plan)
}

// waitWritten waits until the audit log, from a place before the epoch's claim, shows its first write. One that is over writes nothing any more.
func waitWritten(t *testing.T, epoch int64, from int) {
	t.Helper()
	within(t, 30*time.Second, func() error {
		if err := audit.read(); err != nil {
			return err
		}
		all := reigns(audit.writes[from:])
		for i, r := range all {
			if r.epoch == epoch && (r.first != 0 || i < len(all)-1) {
				return nil
			}
		}
		return fmt.Errorf("epoch %d wrote nothing", epoch)
	})
}

// wakeUp lets a paused leader go on when another one has taken the Lease, and it has slept a while more: at any moment from there until
// a little after that one has begun to write.
func wakeUp(t *testing.T, old *cluster.OperatorProcess, asleep time.Duration) {
	t.Helper()
	within(t, time.Minute, func() error {
		lease := &coordinationv1.Lease{}
		if err := admin.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: leader.LeaseName}, lease); err != nil {
			return err
		}
		if ptr.Deref(lease.Spec.HolderIdentity, "") == leader.Identity(old.PodName, old.PodUID) {
			return fmt.Errorf("nobody took the Lease of %s", old.PodName)
		}
		return nil
	})
	time.Sleep(asleep + time.Duration(rand.IntN(600))*time.Millisecond)
	if err := old.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// waitEnded waits until a leader that lost its Lease has ended.
func waitEnded(t *testing.T, old *cluster.OperatorProcess) {
	t.Helper()
	select {
	case <-old.Done():
	case <-time.After(15 * time.Second):
		t.Errorf("%s goes on although another replica leads", old.PodName)
		old.Kill()
	}
}

// waitFailed waits until a leader that lost its leadership has ended, as one that was not asked to.
func waitFailed(t *testing.T, old *cluster.OperatorProcess) {
	t.Helper()
	waitEnded(t, old)
	if err := old.Wait(); err == nil {
		t.Error("the leader exited with 0, as if it had been asked to")
	}
}
