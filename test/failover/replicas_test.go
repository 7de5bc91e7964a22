package failover

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/leader"
	"github.com/controlee/controlee/pkg/names"
	"github.com/controlee/controlee/pkg/operator"
	"github.com/controlee/controlee/test/cluster"
)

// timings are the settings that are measured.
type timings struct {
	name string
	args []string
}

var (
	defaults = timings{name: "6s/4s/0.5s"}
	fast     = timings{
		name: "3s/1.5s/0.4s",
		args: []string{"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=1500ms", "--leader-elect-retry-period=400ms"},
	}
)

// replicas are the running operators by Pod name.
type replicas map[string]*cluster.OperatorProcess

// startReplicas starts operators, each on one of the given servers in turn. They end with the test.
func startReplicas(t *testing.T, number int, set timings, servers ...string) replicas {
	t.Helper()
	prefix := names.Derive("replica", t.Name()) // another one for each test, so that the log tells their replicas apart
	all := replicas{}
	t.Cleanup(func() {
		for _, replica := range all {
			replica.Kill()
		}
	})
	for i := range number {
		o := cluster.Operator{
			Namespace: systemNamespace, ServiceAccount: serviceAccount,
			PodName: fmt.Sprintf("%s-%d", prefix, i), Args: append([]string{"--metrics-auth=false"}, set.args...),
		}
		if len(servers) > 0 {
			o.Server = servers[i%len(servers)]
		}
		replica, err := shared.StartOperator(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		all[replica.PodName] = replica
	}
	for _, replica := range all {
		all.ready(t, replica)
	}
	return all
}

func (r replicas) ready(t *testing.T, replica *cluster.OperatorProcess) {
	t.Helper()
	if err := replica.Ready(t.Context()); err != nil {
		t.Fatalf("%s: %v\n%s", replica.PodName, err, replica.LogTail(40))
	}
}

// revive starts those that have ended, and waits until they stand by.
func (r replicas) revive(t *testing.T) {
	t.Helper()
	for _, replica := range r {
		if !replica.Running() {
			if err := replica.Start(); err != nil {
				t.Fatal(err)
			}
			r.ready(t, replica)
		}
	}
}

// leading waits until one of the replicas leads with at least the given epoch, that is, until the fence lets it write.
func (r replicas) leading(t *testing.T, epoch int64, limit time.Duration) (*cluster.OperatorProcess, int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		fence, err := readFence(ctx)
		if err == nil {
			if holder := fence.Spec.Holder; holder != nil && fence.Status.Epoch == fence.Spec.Epoch && fence.Spec.Epoch >= epoch && r[holder.PodName] != nil {
				return r[holder.PodName], fence.Spec.Epoch
			}
			err = fmt.Errorf("the Fence is %+v, %+v", fence.Spec, fence.Status)
		}
		select {
		case <-ctx.Done():
			for _, replica := range r {
				t.Logf("--- %s\n%s", replica.PodName, replica.LogTail(15))
			}
			t.Fatalf("nobody leads with epoch %d after %s: %v", epoch, limit, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func readFence(ctx context.Context) (*v1alpha1.Fence, error) {
	fence := &v1alpha1.Fence{}
	return fence, admin.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: leader.FenceName}, fence)
}

// waitEnforced waits until an API server that was just started enforces the fence. It learns every half minute which kinds there are,
// and until it knows the Fence it refuses whatever the policy is about.
func waitEnforced(t *testing.T, server string) {
	t.Helper()
	const pod = "enforced"
	if _, err := shared.EnsurePod(t.Context(), systemNamespace, serviceAccount, pod); err != nil {
		t.Fatal(err)
	}
	config, err := shared.PodTokenConfig(t.Context(), systemNamespace, serviceAccount, pod)
	if err != nil {
		t.Fatal(err)
	}
	config.Host = server
	stranger, err := client.New(config, client.Options{Scheme: operator.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	fence := &v1alpha1.Fence{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: leader.FenceName}}
	within(t, time.Minute, func() error {
		err := stranger.Status().Patch(t.Context(), fence.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"epoch":0}}`)), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "does not lead") {
			return fmt.Errorf("the write of a Pod that does not lead: %w", err)
		}
		return nil
	})
}
