package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// What cannot have a load balancer is told why, and what to do; once that is done it has one.
func TestRefusedSources(t *testing.T) {
	const namespace = "claim-refused"
	cases := map[string]struct {
		source client.Object
		state  string
		mend   func(client.Object) // nil where it takes another object
	}{
		"NoPorts": {
			source: newDeployment(namespace, "no-ports", internalClass, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Ports = nil }),
			state:  "InvalidPorts: the source has no ports",
			mend: ofDeployment(func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080}}
			}),
		},
		"WrongPort": {
			source: newService(namespace, "wrong-port", internalClass, func(s *corev1.Service) { s.Annotations[v1alpha1.BarPortAnnotation] = "https" }),
			state:  `InvalidPorts: the annotation controlee.dev/bar-port picks port "https", which is none of 80 (http)`,
			mend:   func(o client.Object) { o.GetAnnotations()[v1alpha1.BarPortAnnotation] = "80" },
		},
		"MatchExpressions": {
			source: newDeployment(namespace, "expressions", internalClass, func(d *appsv1.Deployment) {
				d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}
			}),
			state: "UnsupportedSource: a Service selects Pods by labels alone",
		},
		"Headless": {
			source: newService(namespace, "headless", internalClass, func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }),
			state:  "UnsupportedSource: a headless Service has no address",
		},
		"ExternalName": {
			source: newService(namespace, "external-name", internalClass, func(s *corev1.Service) {
				s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "team-b.example.com"}
			}),
			state: "UnsupportedSource: a Service of type ExternalName has no Pods",
		},
		"NoSelector": {
			source: newService(namespace, "no-selector", internalClass, func(s *corev1.Service) { s.Spec.Selector = nil }),
			state:  `UnsupportedSource: BarClass "internal" needs a Service with spec.selector`,
			mend:   ofService(func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "web"} }),
		},
		"ExternalIPs": {
			source: newService(namespace, "external-ips", internalClass, func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"203.0.113.9"} }),
			state:  "UnsupportedSource: remove spec.externalIPs",
			mend:   ofService(func(s *corev1.Service) { s.Spec.ExternalIPs = nil }),
		},
		"UnknownClass": {
			source: newService(namespace, "unknown-class", "no-such-class"),
			state:  `BarClassNotFound: there is no BarClass "no-such-class"`,
			mend:   func(o client.Object) { askFor(o, internalClass) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			create(t, tc.source)
			waitState(t, tc.source, tc.state)
			waitForEventOf(t, tc.source, corev1.EventTypeWarning, "SyncLoadBalancerFailed")
			if err := nothingLeft(t.Context(), tc.source); err != nil {
				t.Error(err)
			}
			if tc.mend != nil {
				change(t, tc.source, tc.mend)
				waitExposed(t, tc.source)
			}
		})
	}
}

func ofDeployment(change func(*appsv1.Deployment)) func(client.Object) {
	return func(object client.Object) {
		if d, ok := object.(*appsv1.Deployment); ok {
			change(d)
		}
	}
}

func ofService(change func(*corev1.Service)) func(client.Object) {
	return func(object client.Object) {
		if s, ok := object.(*corev1.Service); ok {
			change(s)
		}
	}
}

// The classes that a tenant may use are its Tenant's to say, at any time.
func TestClassTakenAwayAndGivenBack(t *testing.T) {
	needClass(t, nodePortClass)
	deployment := newDeployment("claim-class", "web", nodePortClass)
	create(t, deployment)
	_, service := waitExposed(t, deployment)
	if service.Spec.Type != corev1.ServiceTypeNodePort {
		t.Errorf("type %s", service.Spec.Type)
	}
	allowClass(t, "claims", nodePortClass, false)
	waitState(t, deployment, "ClassNotAllowed: your team may not use BarClass")
	waitUnexposed(t, deployment)
	waitForEventOf(t, deployment, corev1.EventTypeWarning, "SyncLoadBalancerFailed")

	allowClass(t, "claims", nodePortClass, true)
	waitExposed(t, deployment)
}

// A class that is deleted and made again is no outage; a source that asks for it in between has to
// wait.
func TestClassDeletedAndMadeAgain(t *testing.T) {
	class := needClass(t, passingClass)
	first, second := newDeployment("claim-class", "first", passingClass), newDeployment("claim-class", "second", passingClass)
	create(t, first)
	_, before := waitExposed(t, first)
	if err := admin.Delete(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	create(t, second)
	waitState(t, second, "BarClassNotFound")
	waitState(t, first, "BarClassNotFound")
	always(t, 2*time.Second, func(ctx context.Context) error {
		now := &corev1.Service{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(before), now); err != nil {
			return err
		}
		if now.UID != before.UID {
			return errors.New("the Service was made anew")
		}
		return nil
	})
	class = needClass(t, passingClass)
	t.Cleanup(func() { _ = admin.Delete(context.Background(), class) })
	_, after := waitExposed(t, first)
	if after.UID != before.UID {
		t.Error("the load balancer was made anew")
	}
	waitExposed(t, second)
}

// A change of the class gives another object, made before the old one goes.
func TestClassChanged(t *testing.T) {
	needClass(t, nodePortClass)
	deployment := newDeployment("claim-class", "changes", internalClass)
	create(t, deployment)
	bar, before := waitExposed(t, deployment)
	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, nodePortClass) })
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(bar), bar); err != nil {
			return err
		}
		if bar.Spec.ClassName != nodePortClass {
			return fmt.Errorf("class %s", bar.Spec.ClassName)
		}
		return nil
	})
	_, after := waitExposed(t, deployment)
	if after.UID == before.UID || after.Spec.Type != corev1.ServiceTypeNodePort {
		t.Errorf("Service %+v", after)
	}
}

// A tenant has as many load balancers as it may have; room that is made goes to the oldest that
// waits.
func TestLimit(t *testing.T) {
	sources := make([]*appsv1.Deployment, 5)
	for i := range sources {
		sources[i] = newDeployment([]string{"limited-a", "limited-b"}[i%2], fmt.Sprintf("web-%d", i), internalClass)
		create(t, sources[i])
		if i < 2 {
			waitExposed(t, sources[i])
		} else {
			waitState(t, sources[i], "OverLimit: your team has as many load balancers as it may have (2)")
			time.Sleep(time.Second) // ages are in seconds
		}
	}
	if err := admin.Delete(t.Context(), sources[0]); err != nil {
		t.Fatal(err)
	}
	waitExposed(t, sources[2])
	assertOverLimit(t, sources[3:]...)

	change(t, sources[1], func(d *appsv1.Deployment) { askFor(d, "") })
	waitExposed(t, sources[3])
	assertOverLimit(t, sources[4])

	// The one that waits opts out: nobody is kept from anything by it.
	change(t, sources[4], func(d *appsv1.Deployment) { askFor(d, "") })
	waitState(t, sources[4], "")
	change(t, sources[4], func(d *appsv1.Deployment) { askFor(d, internalClass) })
	assertOverLimit(t, sources[4])

	changeTenant(t, "limited", func(s *v1alpha1.TenantSpec) { s.MaxBars = ptr.To[int32](3) })
	waitExposed(t, sources[4])
	// Less than there are takes nothing away.
	changeTenant(t, "limited", func(s *v1alpha1.TenantSpec) { s.MaxBars = ptr.To[int32](1) })
	time.Sleep(time.Second)
	for _, source := range sources[2:] {
		waitExposed(t, source)
	}
	changeTenant(t, "limited", func(s *v1alpha1.TenantSpec) { s.MaxBars = ptr.To[int32](2) })
}

// Many at once do not slip through, however far the cache is behind.
func TestLimitHoldsInACrowd(t *testing.T) {
	const count = 30
	sources := make([]client.Object, count)
	for i := range sources {
		sources[i] = newService("limited-b", fmt.Sprintf("crowd-%02d", i), internalClass)
		create(t, sources[i])
	}
	eventually(t, wait, func(ctx context.Context) error {
		states := map[string]int{}
		for _, source := range sources {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
				return err
			}
			word, _, _ := cutState(source)
			states[word]++
		}
		if states["Ready"] != 2 || states["OverLimit"] != count-2 {
			return fmt.Errorf("states %v", states)
		}
		return nil
	})
}

func assertOverLimit(t *testing.T, sources ...*appsv1.Deployment) {
	t.Helper()
	for _, source := range sources {
		waitState(t, source, "OverLimit")
		if err := nothingLeft(t.Context(), source); err != nil {
			t.Error(err)
		}
	}
}

// A tenant that is taken out of the values keeps its Bars, because nobody can see what they made,
// until its namespace is gone.
func TestTenantRemoved(t *testing.T) {
	with := append(tenants(), newTenant("removed", "removed"))
	if err := shared.UpgradeChart(t.Context(), release(with...)); err != nil {
		t.Fatal(err)
	}
	waitEngaged(t, "removed", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	deployment := newDeployment("removed", "web", internalClass)
	create(t, deployment)
	bar, service := waitExposed(t, deployment)
	if err := shared.UpgradeChart(t.Context(), release(tenants()...)); err != nil {
		t.Fatal(err)
	}
	waitGone(t, &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "removed"}})
	always(t, 5*time.Second, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(bar), bar); err != nil || bar.Spec.Release {
			return fmt.Errorf("the Bar is released: %w", err)
		}
		return admin.Get(ctx, client.ObjectKeyFromObject(service), service)
	})
	if err := admin.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "removed"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(bar), bar); !apierrors.IsNotFound(err) {
			return fmt.Errorf("Bar %+v: %w", bar.Status, err)
		}
		return nil
	})
}

// A namespace that goes over to another tenant takes its Bars along: the load balancers stay, and
// count for the other tenant.
func TestNamespaceChangesTenant(t *testing.T) {
	deployment := newDeployment("limited-a", "moves", internalClass)
	create(t, deployment)
	before, service := waitExposed(t, deployment)
	changeTenant(t, "limited", func(s *v1alpha1.TenantSpec) {
		s.Namespaces = slices.DeleteFunc(s.Namespaces, func(n string) bool { return n == "limited-a" })
	})
	changeTenant(t, "claims", func(s *v1alpha1.TenantSpec) { s.Namespaces = append(s.Namespaces, "limited-a") })
	t.Cleanup(func() {
		changeTenant(t, "claims", func(s *v1alpha1.TenantSpec) {
			s.Namespaces = slices.DeleteFunc(s.Namespaces, func(n string) bool { return n == "limited-a" })
		})
		changeTenant(t, "limited", func(s *v1alpha1.TenantSpec) { s.Namespaces = append(s.Namespaces, "limited-a") })
		waitEngaged(t, "limited", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	})
	eventually(t, wait, func(ctx context.Context) error {
		bar := &v1alpha1.Bar{}
		if err := admin.Get(ctx, barKey(deployment), bar); err != nil {
			return err
		}
		if bar.Spec.Tenant != "claims" || bar.Labels[v1alpha1.TenantLabel] != "claims" || bar.UID != before.UID {
			return fmt.Errorf("Bar %+v", bar)
		}
		return nil
	})
	if _, after := waitExposed(t, deployment); after.UID != service.UID {
		t.Error("the load balancer was made anew")
	}
}
