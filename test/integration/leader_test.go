package integration

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
)

// The leader is killed for good and a Foo is changed right after: the standby applies the change.
func TestStandbyTakesOverAfterAKill(t *testing.T) {
	foo := newFoo("failover", "web", replicas(2))
	create(t, foo)
	waitReady(t, foo)
	leader := waitForLeader(t)

	killed := time.Now()
	leader.Kill()
	applied := changeImage(t, foo, "registry.example/web:after-kill")
	next := waitForLeader(t)
	if next.PodName == leader.PodName {
		t.Fatalf("%s leads although it was killed", next.PodName)
	}
	t.Logf("the change was applied %s after the kill of %s, by %s", applied.Sub(killed).Round(time.Millisecond), leader.PodName, next.PodName)
	waitReady(t, foo)
	restart(t, leader)
}

// On SIGTERM the leader releases the Lease, so that the standby need not wait until it expires, and exits with 0.
func TestHandoverOnTermination(t *testing.T) {
	foo := newFoo("failover", "handover")
	create(t, foo)
	waitReady(t, foo)
	leader := waitForLeader(t)

	began := time.Now()
	if err := leader.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	applied := changeImage(t, foo, "registry.example/web:after-term")
	t.Logf("the change was applied %s after SIGTERM", applied.Sub(began).Round(time.Millisecond))
	if err := leader.Wait(); err != nil {
		t.Errorf("the terminated leader did not exit with 0: %v\n%s", err, leader.LogTail(20))
	}
	restart(t, leader)
}

// A leader that was stopped past its lease finds another one holding it, and exits with an error instead of going on.
func TestLeaderThatLostItsLeaseExits(t *testing.T) {
	leader := waitForLeader(t)
	if err := leader.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resumed := false
	defer func() {
		if !resumed {
			_ = leader.Signal(syscall.SIGCONT)
		}
	}()
	eventually(t, 30*time.Second, func(ctx context.Context) error {
		pod, err := leaderPod(ctx)
		if err != nil {
			return err
		}
		if pod == leader.PodName || pod == "" {
			return fmt.Errorf("the Lease is held by %q", pod)
		}
		return nil
	})
	resumed = true
	if err := leader.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-leader.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the old leader goes on without its Lease")
	}
	if err := leader.Wait(); err == nil {
		t.Error("the old leader exited with 0, as if it had been asked to")
	}
	restart(t, leader)
}

// A container that restarts in its Pod has the same identity and leads again without waiting until its Lease expires.
func TestRestartInThePodTakesTheLeaseBack(t *testing.T) {
	leader := waitForLeader(t)
	for pod, process := range operators {
		if pod != leader.PodName { // alone, so that nobody else can win
			if err := process.Stop(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { restart(t, process) })
		}
	}
	foo := newFoo("failover", "restart")
	create(t, foo)
	waitReady(t, foo)
	leader.Kill()
	began := time.Now()
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	applied := changeImage(t, foo, "registry.example/web:after-restart")
	took := applied.Sub(began).Round(time.Millisecond)
	t.Logf("the change was applied %s after the restart", took)
}

func TestWrongOptionsAreRefusedAtStart(t *testing.T) {
	process, err := shared.StartOperator(t.Context(), cluster.Operator{
		Namespace: systemNamespace, ServiceAccount: serviceAccount, PodName: "misconfigured",
		Args: []string{"--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=4s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-process.Done():
	case <-time.After(30 * time.Second):
		process.Kill()
		t.Fatal("the operator runs with periods that allow two leaders")
	}
	if err := process.Wait(); err == nil {
		t.Error("exited with 0")
	}
	log, err := os.ReadFile(process.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	want := "lease duration 4s must be at least renew deadline + retry period + 1s (5.5s), for example 6s"
	if !strings.Contains(string(log), want) {
		t.Errorf("log %q does not say %q", log, want)
	}
}

// changeImage changes a Foo and gives the time when the change reached the Deployment.
func changeImage(t *testing.T, foo *v1alpha1.Foo, image string) time.Time {
	t.Helper()
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Image = image })
	deployment := &appsv1.Deployment{}
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(foo), deployment); err != nil {
			return err
		}
		if got := deployment.Spec.Template.Spec.Containers[0].Image; got != image {
			return fmt.Errorf("the Deployment still has image %s", got)
		}
		return nil
	})
	return time.Now()
}

// restart starts an operator again that has ended, for the tests to come.
func restart(t *testing.T, process *cluster.OperatorProcess) {
	t.Helper()
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	if err := process.Ready(context.Background()); err != nil {
		t.Fatal(err)
	}
}
