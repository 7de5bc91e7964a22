package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// Grace periods of the tests' BarClasses.
const (
	longGrace  = 10 * time.Minute // never over within a test
	shortGrace = 4 * time.Second
)

// needGraceClasses makes the BarClasses with a grace period, once for all tests.
func needGraceClasses(t *testing.T) {
	t.Helper()
	for name, grace := range map[string]time.Duration{graceClass: longGrace, shortClass: shortGrace} {
		class := &v1alpha1.BarClass{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.BarClassSpec{
				Provider:                  v1alpha1.BarProvider{Type: v1alpha1.ServiceProvider, Service: &v1alpha1.ServiceProviderSpec{}},
				ReleaseGracePeriodSeconds: ptr.To(int32(grace.Seconds())),
			},
		}
		if err := admin.Create(t.Context(), class); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// allowClass lets a tenant use a BarClass, or no longer, whatever else it may use.
func allowClass(t *testing.T, tenant, class string, allowed bool) {
	t.Helper()
	changeTenant(t, tenant, func(s *v1alpha1.TenantSpec) {
		s.AllowedBarClasses = slices.DeleteFunc(s.AllowedBarClasses, func(c string) bool { return c == class })
		if allowed {
			s.AllowedBarClasses = append(s.AllowedBarClasses, class)
		}
	})
}

// loadBalancer is what must not change while nobody has asked for a change.
type loadBalancer struct {
	bar     *v1alpha1.Bar
	service *corev1.Service
}

func exposed(t *testing.T, source client.Object) loadBalancer {
	t.Helper()
	bar, service := waitExposed(t, source)
	return loadBalancer{bar, service}
}

// same checks that Bar and Service are those of before, and that neither is about to go.
func (l loadBalancer) same(ctx context.Context) error {
	bar, service := &v1alpha1.Bar{}, &corev1.Service{}
	if err := errors.Join(admin.Get(ctx, client.ObjectKeyFromObject(l.bar), bar), admin.Get(ctx, client.ObjectKeyFromObject(l.service), service)); err != nil {
		return err
	}
	if bar.UID != l.bar.UID || bar.Spec.Release || service.UID != l.service.UID || service.DeletionTimestamp != nil || service.Spec.ClusterIP != l.service.Spec.ClusterIP {
		return fmt.Errorf("the load balancer was made anew, or is released: Bar %s, Service %s", bar.Name, service.Name)
	}
	return nil
}

// waitPending waits until the release of a Bar is pending for a reason; "" stands for one that is
// not pending.
func (l loadBalancer) waitPending(t *testing.T, reason string) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		bar := &v1alpha1.Bar{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(l.bar), bar); err != nil {
			return err
		}
		pending := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReleasePending)
		if reason == "" && pending != nil || reason != "" && (pending == nil || pending.Status != metav1.ConditionTrue || pending.Reason != reason) {
			return fmt.Errorf("condition %+v, want reason %q", pending, reason)
		}
		return nil
	})
}

// A source that opts out by mistake keeps its load balancer for the grace period, is told until
// when, and has it back with the annotation.
func TestOptOutTakenBackWithinTheGracePeriod(t *testing.T) {
	needGraceClasses(t)
	deployment := newDeployment("claim-grace", "web", graceClass)
	create(t, deployment)
	before := exposed(t, deployment)

	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, "") })
	waitState(t, deployment, "ReleasePending: no load balancer is asked for any more: this one will be released at 20")
	if address := deployment.Annotations[v1alpha1.BarAddressAnnotation]; address != before.service.Spec.ClusterIP {
		t.Errorf("the address is %q, although the load balancer answers", address)
	}
	before.waitPending(t, v1alpha1.ReasonOptedOut)
	waitForEventOf(t, deployment, corev1.EventTypeWarning, "LoadBalancerReleasePending")
	assertQuiet(t, 2*time.Second)

	// A new leader measures anew, and releases nothing because of what its predecessor had
	// measured.
	waitForLeader(t).Kill()
	for _, process := range operators {
		if !process.Running() {
			restart(t, process)
		}
	}
	waitForLeader(t)
	always(t, 2*time.Second, before.same)

	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, graceClass) })
	exposed(t, deployment)
	before.waitPending(t, "")
	if err := before.same(t.Context()); err != nil {
		t.Error(err)
	}
}

// When the grace period is over the load balancer is released, and the source is told so.
func TestReleasedAfterTheGracePeriod(t *testing.T) {
	needGraceClasses(t)
	deployment := newDeployment("claim-grace", "short", shortClass)
	create(t, deployment)
	before := exposed(t, deployment)
	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, "") })
	opted := time.Now()
	before.waitPending(t, v1alpha1.ReasonOptedOut)
	always(t, shortGrace-time.Since(opted)-500*time.Millisecond, before.same)
	waitUnexposed(t, deployment)
	waitState(t, deployment, "")
}

// Deleting the source is a request, and is not delayed.
func TestSourceDeletedWithinTheGracePeriod(t *testing.T) {
	needGraceClasses(t)
	deployment := newDeployment("claim-grace", "deleted", graceClass)
	create(t, deployment)
	before := exposed(t, deployment)
	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, "") })
	before.waitPending(t, v1alpha1.ReasonOptedOut)
	if err := admin.Delete(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	waitUnexposed(t, deployment)
}

// Somebody takes the annotation off the Deployment of a Foo, which puts it back. The address stays.
func TestFooKeepsItsAddress(t *testing.T) {
	needGraceClasses(t)
	foo := newFoo("claim-grace", "foo", func(f *v1alpha1.Foo) {
		f.Spec.Ports = []v1alpha1.ContainerPort{{ContainerPort: 8080}}
		f.Spec.Bar = &v1alpha1.FooBar{ClassName: graceClass}
	})
	create(t, foo)
	waitFor(t, foo, v1alpha1.FooExposed, "True/"+v1alpha1.ReasonExposed)
	deployment := deploymentOf(t, foo)
	before := exposed(t, deployment)
	for i := range 10 {
		change(t, deployment, func(d *appsv1.Deployment) { askFor(d, "") })
		exposed(t, deployment)
		if err := before.same(t.Context()); err != nil {
			t.Fatalf("try %d: %v", i, err)
		}
	}
	before.waitPending(t, "")
}

// What cannot be granted changes nothing about a load balancer that is there, however long it stays
// so.
func TestTyposKeepTheLoadBalancer(t *testing.T) {
	cases := map[string]struct {
		change func(*corev1.Service)
		state  string
	}{
		"Port":      {func(s *corev1.Service) { s.Annotations[v1alpha1.BarPortAnnotation] = "htpt" }, "InvalidPorts: "},
		"Class":     {func(s *corev1.Service) { askFor(s, "interal") }, "BarClassNotFound: "},
		"NotOurs":   {func(s *corev1.Service) { askFor(s, publicClass) }, "ClassNotAllowed: "},
		"Selector":  {func(s *corev1.Service) { s.Spec.Selector = nil }, "UnsupportedSource: "},
		"Addresses": {func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"203.0.113.9"} }, "UnsupportedSource: remove spec.externalIPs"},
		"Ranges": {
			func(s *corev1.Service) {
				s.Spec.Type, s.Spec.LoadBalancerSourceRanges = corev1.ServiceTypeLoadBalancer, []string{"203.0.113.0/24"}
			},
			"UnsupportedSource: remove the load balancer source ranges",
		},
	}
	needBarClasses(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			service := newService("claim-grace", "typo-"+strings.ToLower(name), internalClass)
			create(t, service)
			before := exposed(t, service)
			change(t, service, tc.change)
			waitState(t, service, tc.state)
			always(t, 2*time.Second, before.same)
			change(t, service, func(s *corev1.Service) {
				delete(s.Annotations, v1alpha1.BarPortAnnotation)
				s.Spec.Type, s.Spec.LoadBalancerSourceRanges = corev1.ServiceTypeClusterIP, nil
				askFor(s, internalClass)
				s.Spec.Selector, s.Spec.ExternalIPs = map[string]string{"app": "web"}, nil
			})
			exposed(t, service)
			if err := before.same(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A BarClass is deleted and no longer allowed, in either order: the load balancer goes when the
// class is no longer allowed, and not before.
func TestClassRemovedInEitherOrder(t *testing.T) {
	remove := map[string]func(t *testing.T, class *v1alpha1.BarClass){
		"Deleted": func(t *testing.T, class *v1alpha1.BarClass) {
			t.Helper()
			if err := admin.Delete(t.Context(), class); err != nil {
				t.Fatal(err)
			}
		},
		"NotAllowed": func(t *testing.T, class *v1alpha1.BarClass) {
			t.Helper()
			allowClass(t, "claims", class.Name, false)
		},
	}
	for _, order := range [][]string{{"Deleted", "NotAllowed"}, {"NotAllowed", "Deleted"}} {
		t.Run(strings.Join(order, "Then"), func(t *testing.T) {
			class := needClass(t, passingClass)
			allowClass(t, "claims", passingClass, true)
			t.Cleanup(func() { allowClass(t, "claims", passingClass, true) })
			deployment := newDeployment("claim-grace", "class-"+strings.ToLower(order[0]), passingClass)
			create(t, deployment)
			before := exposed(t, deployment)
			for _, step := range order {
				remove[step](t, class)
				if step == "Deleted" && order[0] == step {
					waitState(t, deployment, "BarClassNotFound")
					always(t, time.Second, before.same)
				}
			}
			// A class that is gone has the default grace period.
			eventually(t, v1alpha1.DefaultReleaseGracePeriod+wait, func(ctx context.Context) error { return nothingLeft(ctx, deployment) })
			if order[0] == "NotAllowed" {
				waitState(t, deployment, "BarClassNotFound")
			}
		})
	}
}

// An object whose Bar is gone, and whose BarClass is missing so that no Bar can take it over, is
// swept.
func TestObjectWithoutABarIsSweptThoughItsClassIsMissing(t *testing.T) {
	class := needClass(t, passingClass)
	deployment := newDeployment("claim-grace", "unclaimed", passingClass)
	create(t, deployment)
	before := exposed(t, deployment)
	withoutOperator(t, func() {
		if err := admin.Delete(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		if err := firefighter(t).Delete(t.Context(), before.bar); err != nil {
			t.Fatal(err)
		}
	})
	waitState(t, deployment, "BarClassNotFound")
	waitGone(t, before.service)
}

// A Tenant that is renamed keeps its load balancers.
func TestTenantRenamed(t *testing.T) {
	named := func(name string) map[string]any {
		tenant := newTenant(name, "renamed")
		tenant["maxBars"] = 1
		return tenant
	}
	addTenant(t, named("team-c"), "renamed")
	deployment, waits := newDeployment("renamed", "web", internalClass), newDeployment("renamed", "waits", internalClass)
	create(t, deployment)
	before := exposed(t, deployment)
	create(t, waits)
	waitState(t, waits, "OverLimit")

	if err := shared.UpgradeChart(t.Context(), release(append(tenants(), named("team-cc"))...)); err != nil {
		t.Fatal(err)
	}
	waitEngaged(t, "team-cc", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	eventually(t, wait, func(ctx context.Context) error {
		bar := &v1alpha1.Bar{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(before.bar), bar); err != nil {
			return err
		}
		if bar.Spec.Tenant != "team-cc" || bar.Labels[v1alpha1.TenantLabel] != "team-cc" {
			return fmt.Errorf("Bar of Tenant %s, label %s", bar.Spec.Tenant, bar.Labels[v1alpha1.TenantLabel])
		}
		return nil
	})
	if err := before.same(t.Context()); err != nil {
		t.Error(err)
	}
	exposed(t, deployment)

	// The limit of the new Tenant counts what it took over.
	change(t, waits, func(d *appsv1.Deployment) { metav1.SetMetaDataAnnotation(&d.ObjectMeta, "example.com/touched", "yes") })
	always(t, time.Second, func(ctx context.Context) error { return nothingLeft(ctx, waits) })
	waitState(t, waits, "OverLimit")
}

// A Tenant record that is missing for a while releases nothing: replaced by force, made after the
// leader has begun, as when the chart is installed again, or missing for longer than any grace
// period.
func TestTenantMissingForAWhile(t *testing.T) {
	addTenant(t, newTenant("absent", "absent"), "absent")
	deployment := newDeployment("absent", "web", internalClass)
	create(t, deployment)
	before := exposed(t, deployment)

	tenant := &v1alpha1.Tenant{}
	key := client.ObjectKey{Namespace: systemNamespace, Name: "absent"}
	if err := admin.Get(t.Context(), key, tenant); err != nil {
		t.Fatal(err)
	}
	fresh := func() *v1alpha1.Tenant {
		return &v1alpha1.Tenant{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: tenant.Labels, Annotations: tenant.Annotations}, Spec: tenant.Spec,
		}
	}
	remove := func() {
		if err := admin.Delete(t.Context(), fresh()); err != nil {
			t.Fatal(err)
		}
	}
	restore := func() {
		if err := admin.Create(t.Context(), fresh()); err != nil {
			t.Fatal(err)
		}
		waitEngaged(t, "absent", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
		exposed(t, deployment)
		if err := before.same(t.Context()); err != nil {
			t.Error(err)
		}
	}
	t.Run("Replaced", func(*testing.T) {
		remove()
		restore()
	})
	t.Run("LaterThanTheLeader", func(t *testing.T) {
		withoutOperator(t, remove)
		always(t, 2*time.Second, before.same)
		restore()
	})
	t.Run("ForLong", func(t *testing.T) {
		remove()
		always(t, 35*time.Second, before.same)
		restore()
	})
}
