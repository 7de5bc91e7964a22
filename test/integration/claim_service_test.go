package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// withClass makes a Service one of type LoadBalancer with a class.
func withClass(class string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, ptr.To(class)
	}
}

// waitIngress waits until a Service's status has exactly these addresses.
func waitIngress(t *testing.T, service *corev1.Service, want ...string) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
			return err
		}
		var got []string
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			got = append(got, ingress.IP+ingress.Hostname)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("ingress %v, want %v", got, want)
		}
		return nil
	})
}

// A Service of type LoadBalancer whose class is a BarClass is served as by any load balancer controller.
func TestServiceWithALoadBalancerClass(t *testing.T) {
	service := newService("claim-service", "classy", "", withClass(v1alpha1.LoadBalancerClassPrefix+internalClass))
	create(t, service)
	_, made := waitExposed(t, service)
	waitIngress(t, service, made.Spec.ClusterIP)
	if mode := service.Status.LoadBalancer.Ingress[0].IPMode; mode == nil || *mode != corev1.LoadBalancerIPModeProxy {
		t.Errorf("mode %v: nodes would take another Service's address for this one's", mode)
	}
	waitForEventOf(t, service, corev1.EventTypeNormal, "EnsuredLoadBalancer")
	assertQuiet(t, 2*time.Second)

	t.Run("Forged", func(t *testing.T) {
		service.Status.LoadBalancer.Ingress[0].IP = "203.0.113.66"
		if err := admin.Status().Update(t.Context(), service); err != nil {
			t.Fatal(err)
		}
		waitIngress(t, service, made.Spec.ClusterIP)
	})
	t.Run("NotAllowed", func(t *testing.T) {
		allowClass(t, "claims", internalClass, false)
		waitState(t, service, "ClassNotAllowed")
		waitIngress(t, service)
		waitUnexposed(t, service)
		allowClass(t, "claims", internalClass, true)
		_, made = waitExposed(t, service)
		waitIngress(t, service, made.Spec.ClusterIP)
	})
	t.Run("AnotherType", func(t *testing.T) {
		change(t, service, func(s *corev1.Service) { s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil })
		waitUnexposed(t, service)
		waitIngress(t, service)
		waitState(t, service, "")
	})
	t.Run("AnnotatedAsWell", func(t *testing.T) {
		needClass(t, nodePortClass)
		both := newService("claim-service", "both", nodePortClass, withClass(v1alpha1.LoadBalancerClassPrefix+internalClass))
		create(t, both)
		waitState(t, both, "ConflictingClasses: the annotation controlee.dev/bar-class asks for BarClass")
		change(t, both, func(s *corev1.Service) { askFor(s, internalClass) })
		waitExposed(t, both)
	})
	t.Run("AnotherController's", func(t *testing.T) {
		other := newService("claim-service", "other", "", withClass("example.com/lb"))
		create(t, other)
		other.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.7"}}
		if err := admin.Status().Update(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		waitIngress(t, other, "203.0.113.7")
		if err := nothingLeft(t.Context(), other); err != nil {
			t.Error(err)
		}
	})
}

// What was made for a Bar asks for nothing itself, whatever is written on it.
func TestBarObjectIsNoSource(t *testing.T) {
	deployment := newDeployment("claim-service", "begets", internalClass)
	create(t, deployment)
	_, service := waitExposed(t, deployment)
	glass := firefighter(t)
	askFor(service, internalClass)
	if err := glass.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	always(t, 2*time.Second, func(ctx context.Context) error {
		if err := admin.Get(ctx, barKey(service), &v1alpha1.Bar{}); err == nil {
			return errors.New("the Service of a Bar has a Bar")
		}
		return nil
	})
	if !metav1.IsControlledBy(service, deployment) {
		t.Errorf("owners %+v", service.OwnerReferences)
	}
}
