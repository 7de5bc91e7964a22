package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

const wait = 30 * time.Second

// newFoo makes a Foo whose Pods the pretend nodes run.
func newFoo(namespace, name string, changes ...func(*v1alpha1.Foo)) *v1alpha1.Foo {
	foo := &v1alpha1.Foo{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.FooSpec{Image: "registry.example/web:1"},
	}
	for _, change := range changes {
		change(foo)
	}
	return foo
}

func replicas(n int32) func(*v1alpha1.Foo) {
	return func(f *v1alpha1.Foo) { f.Spec.Replicas = ptr.To(n) }
}

// create creates an object and deletes it at the end of the test.
func create(t *testing.T, object client.Object) {
	t.Helper()
	if err := admin.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := admin.Delete(context.Background(), object)
		if client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

// change reads an object, changes it and writes it, until nobody else was faster.
func change[T client.Object](t *testing.T, object T, change func(T)) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change(object)
		return admin.Update(ctx, object)
	})
}

// waitFor waits until a condition of a Foo has a status and reason ("True/Available") for its present spec.
func waitFor(t *testing.T, foo *v1alpha1.Foo, condition, want string) *metav1.Condition {
	t.Helper()
	var found *metav1.Condition
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(foo), foo); err != nil {
			return err
		}
		found = meta.FindStatusCondition(foo.Status.Conditions, condition)
		switch {
		case found == nil:
			return fmt.Errorf("no condition %s in %+v", condition, foo.Status)
		case found.ObservedGeneration != foo.Generation:
			return fmt.Errorf("%s speaks of generation %d, the Foo has %d", condition, found.ObservedGeneration, foo.Generation)
		case string(found.Status)+"/"+found.Reason != want:
			return fmt.Errorf("%s is %s/%s (%s), want %s", condition, found.Status, found.Reason, found.Message, want)
		}
		return nil
	})
	return found
}

func waitReady(t *testing.T, foo *v1alpha1.Foo) {
	t.Helper()
	waitFor(t, foo, v1alpha1.FooReady, "True/"+v1alpha1.ReasonAvailable)
}

// deploymentOf reads the Deployment of a Foo.
func deploymentOf(t *testing.T, foo *v1alpha1.Foo) *appsv1.Deployment {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(foo), deployment); err != nil {
		t.Fatal(err)
	}
	return deployment
}

// waitGone waits until an object does not exist.
func waitGone(t *testing.T, object client.Object) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		err := admin.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("%T %s still exists", object, object.GetName())
	})
}

// waitForEvent waits for an Event about a Foo.
func waitForEvent(t *testing.T, foo *v1alpha1.Foo, kind, reason string) {
	t.Helper()
	waitForEventOf(t, foo, kind, reason)
}

// waitForEventOf waits for an Event about any object.
func waitForEventOf(t *testing.T, object client.Object, kind, reason string) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		events := &eventsv1.EventList{}
		if err := admin.List(ctx, events, client.InNamespace(object.GetNamespace())); err != nil {
			return err
		}
		for i := range events.Items {
			event := &events.Items[i]
			if event.Regarding.UID == object.GetUID() && event.Reason == reason && event.Type == kind {
				return nil
			}
		}
		return fmt.Errorf("no %s Event with reason %s about %s", kind, reason, object.GetName())
	})
}
