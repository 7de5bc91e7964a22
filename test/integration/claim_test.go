package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// An ordinary Deployment with one annotation gets a load balancer, learns its address, and without the annotation loses it.
func TestDeploymentBecomesABar(t *testing.T) {
	deployment := newDeployment("claim-basic", "web", internalClass, func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{
			{Name: "http", ContainerPort: 8080}, {ContainerPort: 53, Protocol: corev1.ProtocolUDP}, {ContainerPort: 53, Protocol: corev1.ProtocolTCP},
		}
	})
	create(t, deployment)
	bar, service := waitExposed(t, deployment)

	if bar.Labels[v1alpha1.TenantLabel] != "claims" || bar.Labels[v1alpha1.SourceNamespaceLabel] != "claim-basic" || bar.Spec.Tenant != "claims" {
		t.Errorf("Bar %+v", bar)
	}
	if service.Spec.Type != corev1.ServiceTypeClusterIP || len(service.Spec.Selector) != 1 || service.Spec.Selector["app"] != "web" {
		t.Errorf("Service %+v", service.Spec)
	}
	ports := map[string]string{}
	for _, port := range service.Spec.Ports {
		ports[fmt.Sprintf("%s/%d", port.Protocol, port.Port)] = port.Name
	}
	if len(ports) != 3 || ports["TCP/8080"] != "http" || ports["UDP/53"] != "udp-53" || ports["TCP/53"] != "tcp-53" {
		t.Errorf("ports %v", ports)
	}
	if !metav1.IsControlledBy(service, deployment) {
		t.Errorf("the Service is not the Deployment's: %+v", service.OwnerReferences)
	}
	waitForEventOf(t, deployment, corev1.EventTypeNormal, "EnsuredLoadBalancer")
	assertQuiet(t, 3*time.Second)

	t.Run("TheTenantCannotSeeIt", func(t *testing.T) {
		member, err := shared.UserConfig("claims-member", "claims")
		if err != nil {
			t.Fatal(err)
		}
		tenant, err := newClient(member)
		if err != nil {
			t.Fatal(err)
		}
		if err := tenant.Get(t.Context(), barKey(deployment), &v1alpha1.Bar{}); err == nil {
			t.Error("a tenant reads a Bar")
		}
	})
	t.Run("OnePort", func(t *testing.T) {
		change(t, deployment, func(d *appsv1.Deployment) { d.Annotations[v1alpha1.BarPortAnnotation] = "http" })
		eventually(t, wait, func(ctx context.Context) error {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
				return err
			}
			if len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 8080 {
				return fmt.Errorf("ports %+v", service.Spec.Ports)
			}
			return nil
		})
		waitExposed(t, deployment)
	})
	t.Run("OptsOut", func(t *testing.T) {
		change(t, deployment, func(d *appsv1.Deployment) { askFor(d, "") })
		waitUnexposed(t, deployment)
		waitState(t, deployment, "")
		waitForEventOf(t, deployment, corev1.EventTypeNormal, "DeletedLoadBalancer")
	})
	t.Run("OptsInAgain", func(t *testing.T) {
		change(t, deployment, func(d *appsv1.Deployment) { askFor(d, internalClass) })
		waitExposed(t, deployment)
	})
	t.Run("Deleted", func(t *testing.T) {
		if err := admin.Delete(t.Context(), deployment); err != nil {
			t.Fatal(err)
		}
		waitUnexposed(t, deployment)
	})
}

// A source that is deleted and made again is another one: it gets a Bar of its own.
func TestRecreatedSource(t *testing.T) {
	deployment := newDeployment("claim-basic", "again", internalClass)
	create(t, deployment)
	before, _ := waitExposed(t, deployment)
	for range 3 {
		if err := admin.Delete(t.Context(), deployment, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			t.Fatal(err)
		}
		deployment = newDeployment("claim-basic", "again", internalClass)
		create(t, deployment)
	}
	after, service := waitExposed(t, deployment)
	if before.UID == after.UID || !metav1.IsControlledBy(service, deployment) {
		t.Errorf("the new Deployment has the old one's: Bar %s, Service %+v", after.UID, service.OwnerReferences)
	}
}

// Deleted while no operator runs: when one does, nothing is left.
func TestSourceDeletedWhileTheOperatorIsStopped(t *testing.T) {
	deleted, recreated, optedOut := newDeployment("claim-basic", "deleted", internalClass), newDeployment("claim-basic", "recreated", internalClass),
		newDeployment("claim-basic", "opted-out", internalClass)
	for _, deployment := range []*appsv1.Deployment{deleted, recreated, optedOut} {
		create(t, deployment)
		waitExposed(t, deployment)
	}
	withoutOperator(t, func() {
		for _, deployment := range []*appsv1.Deployment{deleted, recreated} {
			if err := admin.Delete(t.Context(), deployment, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
				t.Fatal(err)
			}
		}
		recreated = newDeployment("claim-basic", "recreated", internalClass)
		create(t, recreated)
		change(t, optedOut, func(d *appsv1.Deployment) { askFor(d, "") })
	})
	waitUnexposed(t, deleted)
	waitUnexposed(t, optedOut)
	waitState(t, optedOut, "")
	waitExposed(t, recreated)
}

// What the operator writes on a source is an answer: forged, changed or removed it is put right, and nobody is misled by it.
func TestForgedAnswersArePutRight(t *testing.T) {
	asks, doesNot := newDeployment("claim-basic", "asks", internalClass), newDeployment("claim-basic", "does-not", "")
	create(t, asks)
	create(t, doesNot)
	_, service := waitExposed(t, asks)
	forge := func(d *appsv1.Deployment) {
		if d.Annotations == nil {
			d.Annotations = map[string]string{}
		}
		d.Annotations[v1alpha1.BarAddressAnnotation], d.Annotations[v1alpha1.BarStateAnnotation] = "203.0.113.66", "Ready"
	}
	right := func(d *appsv1.Deployment, address, state string) {
		t.Helper()
		eventually(t, wait, func(ctx context.Context) error {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
				return err
			}
			if word, _, _ := cutState(d); d.Annotations[v1alpha1.BarAddressAnnotation] != address || word != state {
				return fmt.Errorf("annotations %v", d.Annotations)
			}
			return nil
		})
	}
	change(t, asks, forge)
	change(t, doesNot, forge)
	right(asks, service.Spec.ClusterIP, "Ready")
	right(doesNot, "", "")
	change(t, asks, func(d *appsv1.Deployment) {
		delete(d.Annotations, v1alpha1.BarAddressAnnotation)
		delete(d.Annotations, v1alpha1.BarStateAnnotation)
	})
	right(asks, service.Spec.ClusterIP, "Ready")
	assertQuiet(t, 2*time.Second)
}

// What goes on in a Deployment otherwise does not touch its load balancer.
func TestRolloutsLeaveTheBarAlone(t *testing.T) {
	deployment := newDeployment("claim-basic", "rolls", internalClass)
	create(t, deployment)
	bar, service := waitExposed(t, deployment)
	change(t, deployment, func(d *appsv1.Deployment) {
		d.Spec.Replicas = ptr.To[int32](1)
		d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": time.Now().Format(time.RFC3339)}
	})
	time.Sleep(3 * time.Second)
	barNow, serviceNow := waitExposed(t, deployment)
	if barNow.ResourceVersion != bar.ResourceVersion || serviceNow.ResourceVersion != service.ResourceVersion {
		t.Errorf("changed: Bar %s, %s; Service %s, %s", bar.ResourceVersion, barNow.ResourceVersion, service.ResourceVersion, serviceNow.ResourceVersion)
	}
}
