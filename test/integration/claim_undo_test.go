package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
)

// waitRevision waits until a Deployment has a revision for its present spec.
func waitRevision(t *testing.T, deployment *appsv1.Deployment, want string) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return err
		}
		if got := deployment.Annotations["deployment.kubernetes.io/revision"]; got != want || deployment.Status.ObservedGeneration != deployment.Generation {
			return fmt.Errorf("revision %s, want %s", got, want)
		}
		return nil
	})
}

// secondRevision creates a Deployment that asks for one BarClass and then, in its second revision,
// for another one.
func secondRevision(t *testing.T, name, first, second string) (*appsv1.Deployment, loadBalancer) {
	t.Helper()
	deployment := newDeployment("claim-grace", name, first)
	create(t, deployment)
	waitRevision(t, deployment, "1")
	if first != "" {
		exposed(t, deployment)
	}
	change(t, deployment, func(d *appsv1.Deployment) {
		askFor(d, second)
		d.Spec.Template.Spec.Containers[0].Image = "registry.example/web:2"
	})
	waitRevision(t, deployment, "2")
	return deployment, exposedBy(t, deployment, second)
}

// exposedBy waits until a load balancer of a BarClass is ready, and the one before it is gone.
func exposedBy(t *testing.T, source client.Object, class string) loadBalancer {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		bar := &v1alpha1.Bar{}
		if err := admin.Get(ctx, barKey(source), bar); err != nil {
			return err
		}
		if bar.Spec.ClassName != class || bar.Status.ObservedGeneration != bar.Generation || len(bar.Status.Targets) != 1 {
			return fmt.Errorf("Bar of class %s: %+v, want class %s", bar.Spec.ClassName, bar.Status, class)
		}
		return nil
	})
	return exposed(t, source)
}

func undo(t *testing.T, deployment *appsv1.Deployment) {
	t.Helper()
	kubeconfig, err := shared.AdminKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	if out, stderr, err := shared.Kubectl(t.Context(), kubeconfig, "--namespace="+deployment.Namespace, "rollout", "undo", "deployment/"+deployment.Name); err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr)
	}
}

// `kubectl rollout undo` brings back the annotations of the earlier revision, which did not opt in.
func TestRolloutUndo(t *testing.T) {
	needGraceClasses(t)
	deployment, before := secondRevision(t, "undone", "", graceClass)
	undo(t, deployment)
	waitState(t, deployment, "ReleasePending")
	if class := deployment.Annotations[v1alpha1.BarClassAnnotation]; class != "" {
		t.Fatalf("kubectl rollout undo left BarClass %s", class)
	}
	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, graceClass) })
	exposed(t, deployment)
	if err := before.same(t.Context()); err != nil {
		t.Error(err)
	}
}

// `kubectl rollout undo` brings back the BarClass of the earlier revision: the source has an Event
// of the change, and the next load balancer is there before the present one goes.
func TestRolloutUndoToAnotherClass(t *testing.T) {
	needGraceClasses(t)
	deployment, before := secondRevision(t, "older-class", internalClass, graceClass)
	since := time.Now()
	undo(t, deployment)
	after := exposedBy(t, deployment, internalClass)
	if class := deployment.Annotations[v1alpha1.BarClassAnnotation]; class != internalClass {
		t.Fatalf("kubectl rollout undo left BarClass %q", class)
	}
	if after.bar.UID != before.bar.UID || after.service.UID == before.service.UID {
		t.Errorf("Bar %s with Service %s, want the Bar of before, %s, and another Service than %s",
			after.bar.UID, after.service.Name, before.bar.UID, before.service.Name)
	}
	waitGone(t, before.service)
	writes := slices.DeleteFunc(operatorRequests(t, since), func(e cluster.AuditEvent) bool {
		return !isWrite(e) || e.Object().Resource != "services" || e.Code() >= 300
	})
	first := func(verb, name string) int {
		return slices.IndexFunc(writes, func(e cluster.AuditEvent) bool { return e.Verb == verb && e.Object().Name == name })
	}
	made, deleted := first("patch", after.service.Name), first("delete", before.service.Name)
	if made < 0 || deleted < 0 || made > deleted {
		t.Errorf("request %d made Service %s, request %d deleted Service %s: %v", made, after.service.Name, deleted, before.service.Name, writes)
	}
	waitForNote(t, deployment, "ChangingLoadBalancerClass", "BarClass changes from "+graceClass+" to "+internalClass)
}

// waitForNote waits for an Event about an object whose text begins with a part.
func waitForNote(t *testing.T, object client.Object, reason, part string) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		events := &eventsv1.EventList{}
		if err := admin.List(ctx, events, client.InNamespace(object.GetNamespace())); err != nil {
			return err
		}
		for i := range events.Items {
			event := &events.Items[i]
			if event.Regarding.UID == object.GetUID() && event.Reason == reason && strings.HasPrefix(event.Note, part) {
				return nil
			}
		}
		return fmt.Errorf("no Event %s about %s says %q", reason, object.GetName(), part)
	})
}

// A rename gives a namespace to a Tenant that may not use the BarClass of a load balancer there:
// the load balancer is released after the grace period, and not before.
func TestTenantRenamedWithoutItsClass(t *testing.T) {
	needGraceClasses(t)
	named := func(name string, classes ...any) map[string]any {
		tenant := newTenant(name, "renamed-class")
		tenant["allowedBarClasses"] = classes
		return tenant
	}
	addTenant(t, named("team-d", internalClass, shortClass), "renamed-class")
	released, kept := newDeployment("renamed-class", "released", shortClass), newDeployment("renamed-class", "kept", internalClass)
	create(t, released)
	create(t, kept)
	before, other := exposed(t, released), exposed(t, kept)

	if err := shared.UpgradeChart(t.Context(), release(append(tenants(), named("team-dd", internalClass))...)); err != nil {
		t.Fatal(err)
	}
	before.waitPending(t, v1alpha1.ReasonClassNotAllowed)
	always(t, shortGrace/2, before.same)
	waitState(t, released, "ClassNotAllowed: your team may no longer use BarClass")
	waitUnexposed(t, released)
	waitState(t, released, "ClassNotAllowed: your team may not use BarClass")
	if err := other.same(t.Context()); err != nil {
		t.Error(err)
	}
}

// A Foo that drops spec.bar says until when its load balancer answers, keeps the address until
// then, and says nothing when it is gone.
func TestFooDropsItsLoadBalancer(t *testing.T) {
	needGraceClasses(t)
	foo := newFoo("claim-grace", "drops", withBar, func(f *v1alpha1.Foo) { f.Spec.Bar.ClassName = shortClass })
	create(t, foo)
	waitFor(t, foo, v1alpha1.FooExposed, "True/"+v1alpha1.ReasonExposed)
	before, address := exposed(t, deploymentOf(t, foo)), foo.Status.Address
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Bar = nil })
	waitFor(t, foo, v1alpha1.FooExposed, "False/"+v1alpha1.ReasonReleasePending)
	waitMessage(t, foo, v1alpha1.FooExposed, "this one will be released at 20")
	if foo.Status.Address != address || address == "" {
		t.Errorf("the address is %q, want %q", foo.Status.Address, address)
	}
	waitGone(t, before.bar)
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(foo), foo); err != nil {
			return err
		}
		if meta.FindStatusCondition(foo.Status.Conditions, v1alpha1.FooExposed) != nil || foo.Status.Address != "" {
			return fmt.Errorf("status %+v of a Foo without a load balancer", foo.Status)
		}
		return nil
	})
}
