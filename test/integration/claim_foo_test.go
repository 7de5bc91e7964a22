package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// A Foo with spec.bar says where it answers.
func TestFooWithABar(t *testing.T) {
	foo := newFoo("claim-foo", "web", func(f *v1alpha1.Foo) {
		f.Spec.Ports = []v1alpha1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "admin", ContainerPort: 9090}}
		f.Spec.Bar = &v1alpha1.FooBar{ClassName: internalClass, Port: ptr.To(intstr.FromString("http"))}
	})
	create(t, foo)
	waitFor(t, foo, v1alpha1.FooExposed, "True/"+v1alpha1.ReasonExposed)
	_, service := waitExposed(t, deploymentOf(t, foo))
	if foo.Status.Address != service.Spec.ClusterIP || len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 8080 {
		t.Errorf("address %q, Service %+v", foo.Status.Address, service.Spec)
	}
	waitReady(t, foo)

	// What the tenant writes on the Deployment convinces nobody.
	change(t, deploymentOf(t, foo), func(d *appsv1.Deployment) {
		d.Annotations[v1alpha1.BarAddressAnnotation], d.Annotations[v1alpha1.BarStateAnnotation] = "203.0.113.66", "OverLimit: ha"
	})
	waitExposed(t, deploymentOf(t, foo))
	waitFor(t, foo, v1alpha1.FooExposed, "True/"+v1alpha1.ReasonExposed)
	if foo.Status.Address != service.Spec.ClusterIP {
		t.Errorf("address %q", foo.Status.Address)
	}

	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Bar.ClassName = "no-such-class" })
	condition := waitFor(t, foo, v1alpha1.FooExposed, "False/"+v1alpha1.ReasonBarClassNotFound)
	if !strings.Contains(condition.Message, "ask for one that your platform offers") {
		t.Errorf("message %q", condition.Message)
	}
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Bar.ClassName = internalClass })
	waitFor(t, foo, v1alpha1.FooExposed, "True/"+v1alpha1.ReasonExposed)

	deployment := deploymentOf(t, foo)
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Bar = nil })
	waitUnexposed(t, deployment)
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(foo), foo); err != nil {
			return err
		}
		if foo.Status.Address != "" || len(foo.Status.Conditions) != 2 {
			return fmt.Errorf("status %+v", foo.Status)
		}
		return nil
	})
}

// A Foo that may not have a load balancer runs all the same, and says why it is not exposed.
func TestFooOverTheLimit(t *testing.T) {
	changeTenant(t, "limited", func(s *v1alpha1.TenantSpec) { s.MaxBars = ptr.To[int32](0) })
	t.Cleanup(func() { changeTenant(t, "limited", func(s *v1alpha1.TenantSpec) { s.MaxBars = ptr.To[int32](2) }) })
	foo := newFoo("limited-a", "foo", func(f *v1alpha1.Foo) {
		f.Spec.Ports = []v1alpha1.ContainerPort{{ContainerPort: 8080}}
		f.Spec.Bar = &v1alpha1.FooBar{ClassName: internalClass}
	})
	create(t, foo)
	waitFor(t, foo, v1alpha1.FooExposed, "False/"+v1alpha1.ReasonOverLimit)
	waitReady(t, foo)
}

// After a status is written the Foo is looked at again: what was written may rest on a cache that lagged behind.
func TestFooIsNeverStuckInAnOldStatus(t *testing.T) {
	foo := newFoo("claim-foo", "loop")
	create(t, foo)
	waitReady(t, foo)
	for i := range 10 {
		change(t, foo, func(f *v1alpha1.Foo) {
			f.Spec.Image, f.Spec.Replicas = fmt.Sprintf("registry.example/web:%d", i), ptr.To[int32](1)
		})
		waitReady(t, foo)
		change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Replicas = ptr.To[int32](0) })
		waitFor(t, foo, v1alpha1.FooReady, "True/"+v1alpha1.ReasonScaledToZero)
	}
}

// A Foo says what a Deployment waits for that somebody paused, or holds by a finalizer.
func TestFooTellsWhatHoldsItsDeployment(t *testing.T) {
	foo := newFoo("claim-foo", "held")
	create(t, foo)
	waitReady(t, foo)
	message := func(want string) {
		t.Helper()
		eventually(t, wait, func(ctx context.Context) error {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(foo), foo); err != nil {
				return err
			}
			for _, condition := range foo.Status.Conditions {
				if condition.Type == v1alpha1.FooReady && strings.Contains(condition.Message, want) {
					return nil
				}
			}
			return fmt.Errorf("no %q in %+v", want, foo.Status.Conditions)
		})
	}
	change(t, deploymentOf(t, foo), func(d *appsv1.Deployment) { d.Spec.Paused = true })
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Image = "registry.example/web:2" })
	message("the Deployment is paused: `kubectl rollout resume deployment/held --namespace claim-foo` lets it go on")
	change(t, deploymentOf(t, foo), func(d *appsv1.Deployment) { d.Spec.Paused = false })
	waitReady(t, foo)

	held := deploymentOf(t, foo)
	change(t, held, func(d *appsv1.Deployment) { d.Finalizers = append(d.Finalizers, "example.com/hold") })
	if err := admin.Delete(t.Context(), held, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	message("the Deployment is being deleted and held by the finalizers example.com/hold")
	change(t, held, func(d *appsv1.Deployment) { d.Finalizers = nil })
	waitReady(t, foo)
}

// Each kind of child has Events of its own, whose notes say what it was.
func TestEventsTellTheChildrenApart(t *testing.T) {
	foo := newFoo("claim-foo", "events", replicas(2))
	create(t, foo)
	waitReady(t, foo)
	eventually(t, wait, func(ctx context.Context) error {
		events := &eventsv1.EventList{}
		if err := admin.List(ctx, events, client.InNamespace(foo.Namespace)); err != nil {
			return err
		}
		notes := map[string]bool{}
		for i := range events.Items {
			if events.Items[i].Regarding.UID == foo.UID {
				notes[events.Items[i].Note] = true
			}
		}
		if !notes["Created Deployment events"] || !notes["Created PodDisruptionBudget events"] {
			return fmt.Errorf("notes %v", notes)
		}
		return nil
	})
}
