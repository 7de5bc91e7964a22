// Package leader decides which replica may write.
package leader

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// +kubebuilder:rbac:roleName=controlee-operator-system,groups=coordination.k8s.io,resources=leases,resourceNames=controlee,verbs=get;update

// LeaseName is the name of the Lease in the system namespace. The chart makes it and the operator's rights on it
// name it, so that the operator needs no right to create one.
const LeaseName = "controlee"

// Identity names one pod. A container that restarts in its pod has the same identity, so it takes its Lease back
// at once instead of waiting until it expires.
func Identity(podName, podUID string) string {
	return podName + "_" + podUID
}

// NewLock makes the resource lock for controller-runtime's manager.
//
// It has a client of its own, so that a busy workqueue cannot starve the renewals. One request never takes the whole
// renew deadline: two tries fit.
func NewLock(config *rest.Config, namespace, identity string, timings Timings) (resourcelock.Interface, error) {
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.Timeout = timings.RenewDeadline / 2
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("leader election client: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: LeaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}, nil
}
