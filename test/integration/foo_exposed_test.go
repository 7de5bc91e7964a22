package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
)

// withBar lets a Foo ask for a load balancer.
func withBar(f *v1alpha1.Foo) {
	f.Spec.Ports = []v1alpha1.ContainerPort{{Name: "http", ContainerPort: 8080}}
	f.Spec.Bar = &v1alpha1.FooBar{ClassName: internalClass}
}

// waitMessage waits until the message of a Foo's condition has all parts.
func waitMessage(t *testing.T, foo *v1alpha1.Foo, condition string, parts ...string) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(foo), foo); err != nil {
			return err
		}
		found := meta.FindStatusCondition(foo.Status.Conditions, condition)
		for _, part := range parts {
			if found == nil || !strings.Contains(found.Message, part) {
				return fmt.Errorf("%s is %+v, want %q in the message", condition, found, part)
			}
		}
		return nil
	})
}

// A Foo whose Deployment cannot ask for a load balancer says why, instead of waiting.
func TestFooSaysWhyNothingAsks(t *testing.T) {
	t.Run("Conflict", func(t *testing.T) {
		create(t, newDeployment("claim-foo", "taken", ""))
		foo := newFoo("claim-foo", "taken", withBar)
		create(t, foo)
		waitFor(t, foo, v1alpha1.FooExposed, "False/"+v1alpha1.ReasonConflict)
		waitMessage(t, foo, v1alpha1.FooExposed, "cannot ask for a load balancer", `Deployment "taken" exists`)
	})
	t.Run("Refused", func(t *testing.T) {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: "refused", Name: "no-deployments"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}},
		}
		create(t, quota)
		eventually(t, wait, func(ctx context.Context) error {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
				return err
			}
			if len(quota.Status.Hard) == 0 {
				return fmt.Errorf("quota not active: %+v", quota.Status)
			}
			return nil
		})
		foo := newFoo("refused", "exposed", withBar)
		create(t, foo)
		waitFor(t, foo, v1alpha1.FooExposed, "False/"+v1alpha1.ReasonRefused)
		waitMessage(t, foo, v1alpha1.FooExposed, "exceeded quota: no-deployments")
	})
}

// A load balancer without a Pod that is ready behind it is there, but serves nothing: a Foo says
// both.
func TestFooSaysThatNothingServes(t *testing.T) {
	foo := newFoo("claim-foo", "nothing", withBar, func(f *v1alpha1.Foo) { f.Spec.Image = cluster.NeverReadyImage })
	create(t, foo)
	waitFor(t, foo, v1alpha1.FooExposed, "True/"+v1alpha1.ReasonExposed)
	waitMessage(t, foo, v1alpha1.FooExposed, "nothing serves there: no Pod is ready")
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Image = "registry.example/web:2" })
	waitReady(t, foo)
	waitMessage(t, foo, v1alpha1.FooExposed, "the load balancer answers at "+foo.Status.Address)
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Replicas = ptr.To[int32](0) })
	waitMessage(t, foo, v1alpha1.FooExposed, "nothing serves there: no Pod is wanted")
}

// A Foo names what holds its earlier load balancer, and its predecessor's Deployment.
func TestFooNamesWhatHoldsItBack(t *testing.T) {
	foo := newFoo("claim-foo", "holding", withBar)
	create(t, foo)
	waitFor(t, foo, v1alpha1.FooExposed, "True/"+v1alpha1.ReasonExposed)
	deployment := deploymentOf(t, foo)
	_, service := waitExposed(t, deployment)
	hold(t, service)
	// A new Deployment is another source: its load balancer comes after the earlier one.
	if err := admin.Delete(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	waitFor(t, foo, v1alpha1.FooExposed, "False/"+v1alpha1.ReasonTerminating)
	waitMessage(t, foo, v1alpha1.FooExposed, "the earlier load balancer has to be gone", "Service "+service.Name, "held by finalizer "+testFinalizer)
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Bar = nil })
	waitFor(t, foo, v1alpha1.FooExposed, "False/"+v1alpha1.ReasonTerminating)
	waitMessage(t, foo, v1alpha1.FooExposed, "not wanted any more", "held by finalizer "+testFinalizer)
	change(t, foo, withBar)
	letGo(t, service)
	waitFor(t, foo, v1alpha1.FooExposed, "True/"+v1alpha1.ReasonExposed)

	deployment = deploymentOf(t, foo)
	hold(t, deployment)
	if err := admin.Delete(t.Context(), foo); err != nil {
		t.Fatal(err)
	}
	waitGone(t, foo)
	again := newFoo("claim-foo", "holding", withBar)
	create(t, again)
	for _, condition := range []string{v1alpha1.FooReady, v1alpha1.FooExposed} {
		waitFor(t, again, condition, "False/"+v1alpha1.ReasonConflict)
		waitMessage(t, again, condition, `Deployment "holding" still belongs to a deleted object of the same name`, "held by the finalizers "+testFinalizer)
	}
	letGo(t, deployment)
	waitReady(t, again)
	waitFor(t, again, v1alpha1.FooExposed, "True/"+v1alpha1.ReasonExposed)
}

// Kubernetes switches an autoscaler off where the number of Pods is 0, so a Foo with autoscaling
// begins above it.
func TestAutoscalingStartsFromZero(t *testing.T) {
	scaling := func(least, most int32) func(*v1alpha1.Foo) {
		return func(f *v1alpha1.Foo) {
			f.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
			f.Spec.Replicas, f.Spec.Autoscaling = nil, &v1alpha1.Autoscaling{MinReplicas: ptr.To(least), MaxReplicas: most}
		}
	}
	scaleTo := func(foo *v1alpha1.Foo, n int32) {
		t.Helper()
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}
		if err := admin.SubResource("scale").Update(t.Context(), deploymentOf(t, foo), client.WithSubResourceBody(scale)); err != nil {
			t.Fatal(err)
		}
	}
	waitReplicas := func(foo *v1alpha1.Foo, n int32) {
		t.Helper()
		eventually(t, wait, func(context.Context) error {
			if got := *deploymentOf(t, foo).Spec.Replicas; got != n {
				return fmt.Errorf("%d replicas, want %d", got, n)
			}
			return nil
		})
		waitReady(t, foo)
	}

	foo := newFoo("scaling", "stopped", replicas(0))
	create(t, foo)
	waitFor(t, foo, v1alpha1.FooReady, "True/"+v1alpha1.ReasonScaledToZero)
	change(t, foo, scaling(2, 5))
	waitReplicas(foo, 2)

	scaleTo(foo, 0)
	waitReplicas(foo, 2)
	scaleTo(foo, 4) // as the autoscaler does
	waitReplicas(foo, 4)
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Image = "registry.example/web:2" }) // makes the operator write
	waitReplicas(foo, 4)
	always(t, 2*time.Second, func(context.Context) error {
		if got := *deploymentOf(t, foo).Spec.Replicas; got != 4 {
			return fmt.Errorf("%d replicas: the operator fights the autoscaler", got)
		}
		return nil
	})

	fresh := newFoo("scaling", "fresh", scaling(3, 5))
	create(t, fresh)
	waitApplied(t, fresh)
	waitReplicas(fresh, 3)
}
