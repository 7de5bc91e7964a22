package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// brokenImage is what somebody puts into the Deployment by hand.
const brokenImage = "docker.io/library/wrong:latest"

// breakFoo changes by hand, as the admin, who may, what the operator made.
func (w *world) breakFoo(ctx context.Context) error {
	deployment := "deployment/" + w.foo.Name
	number := func(d *appsv1.Deployment) bool { return ptr.Deref(d.Spec.Replicas, 1) == 0 }
	image := func(d *appsv1.Deployment) bool { return d.Spec.Template.Spec.Containers[0].Image == brokenImage }
	if err := w.breakDeployment(ctx, "the wrong image", image, "set", "image", deployment, v1alpha1.MainContainer+"="+brokenImage); err != nil {
		return err
	}
	if err := w.breakDeployment(ctx, "zero replicas", number, "scale", deployment, "--replicas=0"); err != nil {
		return err
	}
	if err := w.breakBudget(ctx); err != nil {
		return err
	}
	if err := w.waitReady(ctx, w.teamA); err != nil {
		return err
	}
	return w.run(ctx, w.teamA, "get", "deployment,poddisruptionbudget", w.foo.Name)
}

// breakDeployment runs a command and measures how long the Deployment stood as it left it.
func (w *world) breakDeployment(ctx context.Context, what string, broken func(*appsv1.Deployment) bool, command ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	deployments, err := observe[*appsv1.Deployment](ctx, w.client, &appsv1.DeploymentList{}, w.foo.Namespace, w.foo.Name)
	if err != nil {
		return err
	}
	if err := w.run(ctx, w.admin, append(command, "-n", w.foo.Namespace)...); err != nil {
		return err
	}
	broke, err := deployments.until(ctx, "a Deployment with "+what, func(s sighting[*appsv1.Deployment]) (bool, string) {
		_, seen := w.asWanted(s.object, w.scaledTo())
		return broken(s.object), seen
	})
	if err != nil {
		return err
	}
	repaired, err := deployments.until(ctx, "the Deployment to be repaired", func(s sighting[*appsv1.Deployment]) (bool, string) {
		ok, seen := w.asWanted(s.object, w.scaledTo())
		return ok && !s.deleted, seen
	})
	if err != nil {
		return err
	}
	w.page.Measured(what+" stood for", repaired.at.Sub(broke.at))
	return nil
}

func (w *world) breakBudget(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	budgets, err := observe[*policyv1.PodDisruptionBudget](ctx, w.client, &policyv1.PodDisruptionBudgetList{}, w.foo.Namespace, w.foo.Name)
	if err != nil {
		return err
	}
	if err := w.run(ctx, w.admin, "delete", "poddisruptionbudget", w.foo.Name, "-n", w.foo.Namespace); err != nil {
		return err
	}
	gone, err := budgets.until(ctx, "the PodDisruptionBudget to go", func(s sighting[*policyv1.PodDisruptionBudget]) (bool, string) {
		return s.deleted, "it is there"
	})
	if err != nil {
		return err
	}
	back, err := budgets.until(ctx, "a new PodDisruptionBudget", func(s sighting[*policyv1.PodDisruptionBudget]) (bool, string) {
		return !s.deleted && s.object.UID != gone.object.UID, "none"
	})
	if err != nil {
		return err
	}
	w.page.Measured("the PodDisruptionBudget was away for", back.at.Sub(gone.at))
	return nil
}
