package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/try"
)

// operators are the running replicas by Pod name.
var operators = map[string]*cluster.OperatorProcess{}

func startOperators(ctx context.Context, pods ...string) error {
	for _, pod := range pods {
		process, err := shared.StartOperator(ctx, cluster.Operator{
			Namespace: systemNamespace, ServiceAccount: serviceAccount, PodName: pod, Args: []string{"--log-level=debug"},
		})
		if err != nil {
			return err
		}
		operators[pod] = process
		if err := process.Ready(ctx); err != nil {
			return fmt.Errorf("%s: %w\n%s", pod, err, process.LogTail(30))
		}
	}
	return nil
}

// leaderPod gives the name of the Pod that holds the Lease, empty if nobody does.
func leaderPod(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: "controlee"}, lease); err != nil {
		return "", err
	}
	pod, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	return pod, nil
}

// waitForLeader waits until one of the running replicas leads.
func waitForLeader(t *testing.T) *cluster.OperatorProcess {
	t.Helper()
	var leader *cluster.OperatorProcess
	eventually(t, 30*time.Second, func(ctx context.Context) error {
		pod, err := leaderPod(ctx)
		if err != nil {
			return err
		}
		if leader = operators[pod]; leader == nil || !leader.Running() {
			return fmt.Errorf("the Lease is held by %q, which does not run", pod)
		}
		return nil
	})
	return leader
}

// eventually tries until it works; the last error is the test's.
func eventually(t *testing.T, limit time.Duration, do func(context.Context) error) {
	t.Helper()
	try.Until(t, limit, do)
}

// always checks that something stays true for a while.
func always(t *testing.T, span time.Duration, check func(context.Context) error) {
	t.Helper()
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err := check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
