package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/demo/internal/tell"
)

// applyFoo has a user of team A apply the example.
func (w *world) applyFoo(ctx context.Context) error {
	w.page.Say("%s is a member of the group %s, and that is all she is. Her Foo, %s:", userOfTeamA, groupOfTeamA, exampleFile)
	w.page.Say("image %s, %d replicas.", w.foo.Spec.Image, *w.foo.Spec.Replicas)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	foos, err := observe[*v1alpha1.Foo](ctx, w.client, &v1alpha1.FooList{}, w.foo.Namespace, w.foo.Name)
	if err != nil {
		return err
	}
	if err := w.run(ctx, w.teamA, "apply", "-f", exampleFile); err != nil {
		return err
	}
	applied, err := foos.until(ctx, "the Foo", func(s sighting[*v1alpha1.Foo]) (bool, string) { return !s.deleted, "it is deleted" })
	if err != nil {
		return err
	}
	if err := w.waitReady(ctx, w.teamA); err != nil {
		return err
	}
	ready, err := foos.until(ctx, "the Foo to be Ready", fooReady)
	if err != nil {
		return err
	}
	w.page.Measured("from the Foo to all its Pods ready", ready.at.Sub(applied.at))
	return nil
}

func fooReady(s sighting[*v1alpha1.Foo]) (bool, string) {
	for _, condition := range s.object.Status.Conditions {
		if condition.Type == v1alpha1.FooReady {
			current := condition.ObservedGeneration == s.object.Generation
			return current && condition.Status == "True", fmt.Sprintf("Ready=%s: %s", condition.Status, condition.Message)
		}
	}
	return false, "no condition Ready"
}

// waitReady waits as a user would.
func (w *world) waitReady(ctx context.Context, who person) error {
	return w.run(ctx, who, "wait", "--for=condition=Ready", "foo/"+w.foo.Name, "--timeout="+patienceFlag)
}

func (w *world) showFoo(ctx context.Context) error {
	if err := w.run(ctx, w.teamA, "get", "foo", "-o", "wide"); err != nil {
		return err
	}
	if err := w.run(ctx, w.teamA, "get", "deployments,poddisruptionbudgets,pods"); err != nil {
		return err
	}
	status := `jsonpath={range .status.conditions[*]}{.type}={.status}: {.message}{"\n"}{end}`
	if err := w.run(ctx, w.teamA, "get", "foo", w.foo.Name, "-o", status); err != nil {
		return err
	}
	deployment := &appsv1.Deployment{}
	if err := w.client.Get(ctx, client.ObjectKeyFromObject(&w.foo), deployment); err != nil {
		return err
	}
	if ok, seen := w.asWanted(deployment, *w.foo.Spec.Replicas); !ok {
		return &tell.MismatchError{Expected: fmt.Sprintf("a Deployment with the Foo's image and %d replicas", *w.foo.Spec.Replicas), Seen: seen}
	}
	return nil
}

// asWanted says whether a Deployment has the Foo's image and so many replicas.
func (w *world) asWanted(deployment *appsv1.Deployment, replicas int32) (bool, string) {
	image, number := deployment.Spec.Template.Spec.Containers[0].Image, ptr.Deref(deployment.Spec.Replicas, 1)
	return image == w.foo.Spec.Image && number == replicas, fmt.Sprintf("image %s, %d replicas", image, number)
}

// scaledTo is how many replicas the Foo has after the step that scales it.
func (w *world) scaledTo() int32 { return *w.foo.Spec.Replicas + 2 }

func (w *world) scaleFoo(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	foos, err := observe[*v1alpha1.Foo](ctx, w.client, &v1alpha1.FooList{}, w.foo.Namespace, w.foo.Name)
	if err != nil {
		return err
	}
	if err := w.run(ctx, w.teamA, "scale", "foo", w.foo.Name, fmt.Sprintf("--replicas=%d", w.scaledTo())); err != nil {
		return err
	}
	scaled, err := foos.until(ctx, fmt.Sprintf("a Foo with %d replicas", w.scaledTo()), func(s sighting[*v1alpha1.Foo]) (bool, string) {
		number := ptr.Deref(s.object.Spec.Replicas, 1)
		return number == w.scaledTo(), fmt.Sprintf("%d", number)
	})
	if err != nil {
		return err
	}
	ready, err := foos.until(ctx, fmt.Sprintf("the Foo to be Ready with %d Pods", w.scaledTo()), func(s sighting[*v1alpha1.Foo]) (bool, string) {
		ok, seen := fooReady(s)
		return ok && s.object.Status.ReadyReplicas == w.scaledTo(), fmt.Sprintf("%d Pods are ready; %s", s.object.Status.ReadyReplicas, seen)
	})
	if err != nil {
		return err
	}
	if err := w.run(ctx, w.teamA, "get", "foo", w.foo.Name); err != nil {
		return err
	}
	w.page.Measured("from the new number to all Pods ready", ready.at.Sub(scaled.at))
	return nil
}
