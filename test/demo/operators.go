package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/controlee/controlee/pkg/leader"
	"github.com/controlee/controlee/test/demo/internal/tell"
)

// operators are the replicas of the operator, one for each Pod of the chart's Deployment.
type operators interface {
	// start returns when all replicas are ready.
	start(ctx context.Context) error
	// kill ends the replica of a Pod without a warning, and returns when that was.
	kill(ctx context.Context, pod *corev1.Pod) (time.Time, error)
	// restore returns when there are as many replicas again as there should be.
	restore(ctx context.Context) error
	// logs returns the end of each replica's log.
	logs(ctx context.Context) string
}

// operatorPods lists the Pods of the chart's Deployment that are not being deleted, by name.
func operatorPods(ctx context.Context, c client.Client) ([]corev1.Pod, error) {
	deployment := &appsv1.Deployment{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: operatorName}, deployment); err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return nil, err
	}
	pods := &corev1.PodList{}
	if err := c.List(ctx, pods, client.InNamespace(systemNamespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, err
	}
	live := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !pod.DeletionTimestamp.IsZero() })
	slices.SortFunc(live, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return live, nil
}

// leaderPod returns the Pod that holds a Lease, nil if none of the operator's Pods does.
func leaderPod(ctx context.Context, c client.Client, lease *coordinationv1.Lease) (*corev1.Pod, error) {
	pods, err := operatorPods(ctx, c)
	if err != nil {
		return nil, err
	}
	for i := range pods {
		if leader.Identity(pods[i].Name, string(pods[i].UID)) == ptr.Deref(lease.Spec.HolderIdentity, "") {
			return &pods[i], nil
		}
	}
	return nil, nil
}

// eventually asks every now and then until done says so. seen is what it saw last, in words.
func eventually(ctx context.Context, expected string, done func(context.Context) (ok bool, seen string)) error {
	limit := time.After(patience)
	for {
		ok, seen := done(ctx)
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-limit:
			return &tell.MismatchError{Expected: fmt.Sprintf("%s within %s", expected, tell.Duration(patience)), Seen: seen}
		case <-time.After(50 * time.Millisecond):
		}
	}
}
