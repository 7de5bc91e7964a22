package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// testFinalizer holds objects in tests, as a cloud's controller does.
const testFinalizer = "controlee.example/hold"

// hold puts the finalizer on an object until the end of the test.
func hold[T client.Object](t *testing.T, object T) {
	t.Helper()
	change(t, object, func(o T) { o.SetFinalizers(append(o.GetFinalizers(), testFinalizer)) })
	t.Cleanup(func() {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		err := admin.Patch(context.Background(), object, patch)
		if client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

func letGo[T client.Object](t *testing.T, object T) {
	t.Helper()
	change(t, object, func(o T) { o.SetFinalizers(nil) })
}

// A source that is being deleted and held by a finalizer does not go on to tell an address that may be another tenant's by then.
func TestSourceHeldByAFinalizer(t *testing.T) {
	deployment := newDeployment("claim-basic", "held", internalClass)
	service := newService("claim-basic", "held", "", withClass(v1alpha1.LoadBalancerClassPrefix+internalClass))
	for _, source := range []client.Object{deployment, service} {
		create(t, source)
		_, made := waitExposed(t, source)
		hold(t, source)
		hold(t, made)
		if err := admin.Delete(t.Context(), source); err != nil {
			t.Fatal(err)
		}
		waitState(t, source, "Releasing")
		if address, told := source.GetAnnotations()[v1alpha1.BarAddressAnnotation]; told {
			t.Errorf("tells the address %s while it is released", address)
		}
		letGo(t, made)
		waitUnexposed(t, source)
		waitState(t, source, "")
		waitForEventOf(t, source, corev1.EventTypeNormal, "DeletedLoadBalancer")
	}
	waitIngress(t, service)
	assertQuiet(t, 2*time.Second)
	for _, source := range []client.Object{deployment, service} {
		letGo(t, source)
		waitGone(t, source)
	}
}

// While a load balancer cannot go, its source says for whom it waits.
func TestReleaseSaysWhatHoldsIt(t *testing.T) {
	deployment := newDeployment("claim-basic", "waits", internalClass)
	create(t, deployment)
	_, made := waitExposed(t, deployment)
	hold(t, made)
	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, "") })
	waitState(t, deployment, "Releasing: waiting for Service "+made.Name+", which is held by finalizer "+testFinalizer)
	assertQuiet(t, 2*time.Second)
	letGo(t, made)
	waitUnexposed(t, deployment)
	waitState(t, deployment, "")
}

// A source without room for an answer gets it as an Event, and is not tried again and again.
func TestFullAnnotations(t *testing.T) {
	deployment := newDeployment("claim-refused", "full", internalClass, func(d *appsv1.Deployment) {
		d.Annotations[v1alpha1.BarPortAnnotation] = strings.Repeat("x", 261940)
	})
	create(t, deployment)
	eventually(t, wait, func(ctx context.Context) error {
		events := &eventsv1.EventList{}
		if err := admin.List(ctx, events, client.InNamespace(deployment.Namespace)); err != nil {
			return err
		}
		for i := range events.Items {
			event := &events.Items[i]
			if event.Regarding.UID == deployment.UID && event.Reason == "SyncLoadBalancerFailed" &&
				strings.Contains(event.Note, "make room in metadata.annotations") && strings.Contains(event.Note, "InvalidPorts: the annotation") {
				return nil
			}
		}
		return fmt.Errorf("no Event says so among %d", len(events.Items))
	})
	assertQuiet(t, 6*time.Second)
	change(t, deployment, func(d *appsv1.Deployment) { d.Annotations[v1alpha1.BarPortAnnotation] = "http" })
	waitExposed(t, deployment)

	// An answer that no longer fits is taken away: rather none than an old one.
	change(t, deployment, func(d *appsv1.Deployment) {
		room := 262144
		for key, value := range d.Annotations {
			room -= len(key) + len(value)
		}
		d.Annotations["filled"] = strings.Repeat("x", room-len("filled"))
		askFor(d, "no-such-class-"+strings.Repeat("x", len(internalClass)))
		d.Annotations["filled"] = d.Annotations["filled"][:len(d.Annotations["filled"])-len("no-such-class-")]
	})
	waitState(t, deployment, "")
	change(t, deployment, func(d *appsv1.Deployment) {
		delete(d.Annotations, "filled")
		askFor(d, internalClass)
	})
	waitExposed(t, deployment)
}

// A source whose Bar would have another one's name is told, and neither touches the other's.
func TestNameOfAnotherSource(t *testing.T) {
	deployment := newDeployment("claim-refused", "namesake", internalClass)
	other := barObject(deployment)
	other.Spec = v1alpha1.BarSpec{
		SourceRef: v1alpha1.BarSourceReference{APIGroup: "apps", Kind: v1alpha1.SourceDeployment, Namespace: "nowhere", Name: "other", UID: "uid"},
		Tenant:    "nobody", ClassName: internalClass, Ports: []v1alpha1.BarPort{{Port: 80, Protocol: corev1.ProtocolTCP}},
		Selector: map[string]string{"app": "other"},
	}
	glass := firefighter(t)
	if err := glass.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = glass.Delete(context.Background(), other) })
	create(t, deployment)
	waitState(t, deployment, "Conflict: another source has the same derived name, "+other.Name+": rename this Deployment")
	waitForEventOf(t, deployment, corev1.EventTypeWarning, "SyncLoadBalancerFailed")
	assertQuiet(t, 2*time.Second)
	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, "") })
	waitState(t, deployment, "")
	if err := glass.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	waitGone(t, other)
	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, internalClass) })
	waitExposed(t, deployment)
}

// A tenant that comes back does not wait for the next sweep to get rid of what it no longer asks for.
func TestTenantComesBack(t *testing.T) {
	with := append(tenants(), newTenant("returning", "returning"))
	upgrade := func(ctx context.Context, tenants []map[string]any) {
		t.Helper()
		if err := shared.UpgradeChart(ctx, release(tenants...)); err != nil {
			t.Fatal(err)
		}
	}
	upgrade(t.Context(), with)
	t.Cleanup(func() {
		upgrade(context.Background(), tenants())
		_ = admin.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "returning"}})
	})
	waitEngaged(t, "returning", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	leaves, stays := newDeployment("returning", "leaves", internalClass), newDeployment("returning", "stays", internalClass)
	create(t, leaves)
	create(t, stays)
	waitExposed(t, leaves)
	_, kept := waitExposed(t, stays)
	upgrade(t.Context(), tenants())
	waitGone(t, &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "returning"}})
	change(t, leaves, func(d *appsv1.Deployment) { askFor(d, "") })
	upgrade(t.Context(), with)
	waitUnexposed(t, leaves)
	if _, now := waitExposed(t, stays); now.UID != kept.UID {
		t.Error("the Service of a source that still asks for it was made anew")
	}
}
