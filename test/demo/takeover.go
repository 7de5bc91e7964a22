package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/controlee/controlee/pkg/leader"
	"github.com/controlee/controlee/test/demo/internal/tell"
)

// killLeader kills the leader, has team A change its Foo right after that, and waits for the next leader to act on it.
func (w *world) killLeader(ctx context.Context) error {
	old, err := w.currentLeader(ctx)
	if err != nil {
		return err
	}
	oldIdentity := leader.Identity(old.Name, string(old.UID))
	if err := w.showLease(ctx); err != nil {
		return err
	}
	w.page.Say("The leader is Pod %s.", old.Name)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	leases, err := observe[*coordinationv1.Lease](ctx, w.client, &coordinationv1.LeaseList{}, systemNamespace, leader.LeaseName)
	if err != nil {
		return err
	}
	deployments, err := observe[*appsv1.Deployment](ctx, w.client, &appsv1.DeploymentList{}, w.foo.Namespace, w.foo.Name)
	if err != nil {
		return err
	}
	killed, err := w.operators.kill(ctx, old)
	if err != nil {
		return err
	}
	w.page.Say("Right after that team A changes its Foo:")
	number := *w.foo.Spec.Replicas
	if err := w.run(ctx, w.teamA, "scale", "foo", w.foo.Name, fmt.Sprintf("--replicas=%d", number)); err != nil {
		return err
	}
	passed, err := leases.until(ctx, "the Lease to pass on from "+oldIdentity, func(s sighting[*coordinationv1.Lease]) (bool, string) {
		holder := ptr.Deref(s.object.Spec.HolderIdentity, "")
		return holder != "" && holder != oldIdentity, "its holder is " + holder
	})
	if err != nil {
		return err
	}
	acted, err := deployments.until(ctx, fmt.Sprintf("a Deployment with %d replicas", number), func(s sighting[*appsv1.Deployment]) (bool, string) {
		return w.asWanted(s.object, number)
	})
	if err != nil {
		return err
	}
	if err := w.showLease(ctx); err != nil {
		return err
	}
	next, err := w.currentLeader(ctx)
	if err != nil {
		return err
	}
	if next.UID == old.UID {
		return &tell.MismatchError{Expected: "another Pod than " + old.Name + " to lead", Seen: "it leads again"}
	}
	w.page.Say("Pod %s leads, and the Deployment has %d replicas.", next.Name, number)
	w.page.Measured("from the kill to the next leader", passed.at.Sub(killed))
	w.page.Measured("from the kill to its first change", acted.at.Sub(killed))
	return w.waitReady(ctx, w.teamA)
}

func (w *world) showLease(ctx context.Context) error {
	return w.run(ctx, w.admin, "get", "lease", leader.LeaseName, "-n", systemNamespace)
}

// restoreReplica brings back what was killed. That must not disturb the new leader.
func (w *world) restoreReplica(ctx context.Context) error {
	before, err := w.currentLeader(ctx)
	if err != nil {
		return err
	}
	if err := w.operators.restore(ctx); err != nil {
		return err
	}
	if local, ok := w.operators.(*localOperators); ok {
		w.page.Say("The process of the killed Pod is started again, as its kubelet would.")
		for _, r := range local.list() {
			w.page.Say("process %d is Pod %s", r.PID(), r.PodName)
		}
	}
	if err := w.run(ctx, w.admin, "get", "pods", "-n", systemNamespace); err != nil {
		return err
	}
	after, err := w.currentLeader(ctx)
	if err != nil {
		return err
	}
	if after.UID != before.UID {
		return &tell.MismatchError{Expected: "Pod " + before.Name + " to go on leading", Seen: "Pod " + after.Name + " leads"}
	}
	w.page.Say("There are two again. Pod %s goes on leading, the other one stands by.", after.Name)
	return nil
}
