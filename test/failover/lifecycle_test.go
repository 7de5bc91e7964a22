package failover

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/leader"
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/try"
)

// Somebody deletes the Lease: the leader makes it again, as the chart's, and nobody notices.
func TestLeaseDeletedByHand(t *testing.T) {
	all := startReplicas(t, 2, fast)
	led, epoch := all.leading(t, 0, time.Minute)
	before := readLease(t)
	if err := admin.Delete(t.Context(), readLease(t)); err != nil {
		t.Fatal(err)
	}
	within(t, 15*time.Second, func() error {
		lease := &coordinationv1.Lease{}
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(before), lease); err != nil {
			return err
		}
		if lease.UID == before.UID || ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
			return fmt.Errorf("the Lease is still the old one, or nobody's: %+v", lease.Spec)
		}
		for key, value := range before.Labels {
			if lease.Labels[key] != value {
				return fmt.Errorf("label %s is %q, want %q: Helm would not know its Lease again", key, lease.Labels[key], value)
			}
		}
		return nil
	})
	all.writes(t)
	if _, after := all.leading(t, epoch, time.Minute); after != epoch || !led.Running() {
		t.Errorf("epoch %d became %d; the leader runs: %t", epoch, after, led.Running())
	}
}

// Somebody deletes the Lease, and its leader does not come back: another one makes the Lease again.
func TestLeaseDeletedAndLeaderKilled(t *testing.T) {
	all := startReplicas(t, 2, fast)
	led, epoch := all.leading(t, 0, time.Minute)
	led.Kill()
	if err := admin.Delete(t.Context(), readLease(t)); err != nil {
		t.Fatal(err)
	}
	next, _ := all.leading(t, epoch+1, 15*time.Second)
	all.writes(t)
	expectEvent(t, next, "Leading", "after the Lease was missing for the lease duration")
}

// Somebody deletes the Fence, and it is made again as the chart makes it, naming nobody: the leader, whose writes are refused, ends, and
// whoever leads next claims it.
func TestFenceMadeAgainByHand(t *testing.T) {
	all := startReplicas(t, 2, fast)
	old, _ := all.leading(t, 0, time.Minute)
	fence, err := readFence(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Delete(t.Context(), fence); err != nil {
		t.Fatal(err)
	}
	again := &v1alpha1.Fence{ObjectMeta: metav1.ObjectMeta{Namespace: fence.Namespace, Name: fence.Name, Labels: fence.Labels, Annotations: fence.Annotations}}
	if err := admin.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	startLoad(t)
	waitFailed(t, old)
	expectEvent(t, old, "LeadershipLost", "was changed or made again by somebody, and names nobody")
	all.revive(t)
	all.leading(t, 1, time.Minute)
	all.writes(t)
}

// Somebody takes the Lease for a day: the leader ends, and the replicas wait for half a minute, not for a day.
func TestLeaseTakenByHand(t *testing.T) {
	all := startReplicas(t, 2, fast)
	old, epoch := all.leading(t, 0, time.Minute)
	for {
		lease := readLease(t)
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To("somebody"), ptr.To[int32](24*60*60)
		lease.Spec.LeaseTransitions = ptr.To[int32](math.MaxInt32) // there is no next one
		lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now()))
		if admin.Update(t.Context(), lease) == nil { // the leader renews it all the time
			break
		}
	}
	waitFailed(t, old)
	all.revive(t)
	all.leading(t, epoch+1, time.Minute)
	all.writes(t)
}

// A replica that is asked to end just when it has taken the Lease gives it back, so that the next one need not wait until it expires.
func TestTerminatedInTheMidstOfATakeover(t *testing.T) {
	all := startReplicas(t, 3, fast)
	old, epoch := all.leading(t, 0, time.Minute)
	old.Kill()
	var taking *cluster.OperatorProcess
	within(t, 15*time.Second, func() error {
		pod, _, _ := strings.Cut(ptr.Deref(readLease(t).Spec.HolderIdentity, ""), "_")
		if taking = all[pod]; taking == nil || taking == old {
			return fmt.Errorf("the Lease is held by %q", pod)
		}
		return nil
	})
	if err := terminate(taking); err != nil {
		t.Fatal(err)
	}
	waitEnded(t, taking)
	delete(all, old.PodName)
	delete(all, taking.PodName)
	next, _ := all.leading(t, epoch+1, time.Minute)
	expectEvent(t, next, "Leading", "after the Lease was released")
}

// An upgrade and a rollback leave the Lease and the Fence as they are.
func TestUpgradeLeavesTheLeaderAlone(t *testing.T) {
	all := startReplicas(t, 2, defaults)
	_, epoch := all.leading(t, 0, time.Minute)
	chart := release(true)
	chart.Values["log"] = map[string]any{"level": "debug"}
	for _, next := range []func(context.Context) error{
		func(ctx context.Context) error { return shared.UpgradeChart(ctx, chart) },
		func(ctx context.Context) error { return shared.UpgradeChart(ctx, release(true)) },
	} {
		if err := next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, after := all.leading(t, epoch, time.Minute); after != epoch {
			t.Errorf("epoch %d became %d", epoch, after)
		}
		all.writes(t)
	}
}

// After the release is removed under running replicas and installed again, new ones lead, with a Fence that knows nothing. The old ones
// have tokens of a ServiceAccount that is gone: the leader ends, and the other one waits in vain.
func TestReinstall(t *testing.T) {
	old := startReplicas(t, 2, fast)
	led, _ := old.leading(t, 0, time.Minute)
	if err := shared.UninstallChart(t.Context(), release(true)); err != nil {
		t.Fatal(err)
	}
	// They find neither the Lease nor rights, and must not have made a Lease again: Helm could not take it over.
	time.Sleep(2 * time.Second)
	if err := shared.InstallChart(t.Context(), release(true)); err != nil {
		t.Fatal(err)
	}
	fresh := startReplicas(t, 2, fast)
	fresh.leading(t, 1, time.Minute)
	fresh.writes(t)
	waitEnded(t, led)
}

// A Lease that was left over is named before anything is made, with what to do.
func TestLeftoverLease(t *testing.T) {
	if err := shared.UninstallChart(t.Context(), release(true)); err != nil {
		t.Fatal(err)
	}
	left := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: leader.LeaseName},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To("gone_1"), LeaseDurationSeconds: ptr.To[int32](6)},
	}
	if err := admin.Create(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	err := shared.InstallChart(t.Context(), release(true))
	if err == nil || !strings.Contains(err.Error(), "kubectl delete lease controlee --namespace "+systemNamespace) {
		t.Errorf("got %v, want to be told to delete the Lease", err)
	}
	if err := admin.Delete(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	if err := shared.InstallChart(t.Context(), release(true)); err != nil {
		t.Fatal(err)
	}
	all := startReplicas(t, 1, fast)
	all.leading(t, 1, time.Minute)
	all.writes(t)
}

// writes checks that the leader does its work: a Foo gets its Deployment.
func (r replicas) writes(t *testing.T) {
	t.Helper()
	foo := &v1alpha1.Foo{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenantNamespace, GenerateName: "check-"},
		Spec:       v1alpha1.FooSpec{Image: "registry.example/web:1"},
	}
	within(t, 30*time.Second, func() error { return admin.Create(t.Context(), foo) }) // the CRDs may be new
	within(t, 30*time.Second, func() error {
		return admin.Get(t.Context(), client.ObjectKeyFromObject(foo), &appsv1.Deployment{})
	})
}

func readLease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	lease := &coordinationv1.Lease{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: leader.LeaseName}, lease); err != nil {
		t.Fatal(err)
	}
	return lease
}

// within tries until it works; the last error is the test's.
func within(t *testing.T, limit time.Duration, do func() error) {
	t.Helper()
	try.Until(t, limit, func(context.Context) error { return do() })
}
