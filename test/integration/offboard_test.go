package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/claim"
)

// Off-boarding in two steps. The first one releases all that the operator made or wrote for load
// balancers, at once and whatever the grace period, says when that is done, and can be taken back.
// The second one takes the tenant out.
func TestOffboarding(t *testing.T) {
	needGraceClasses(t)
	marks := logMarks(t)
	tenant := newTenant("offboarded", "offboarded", "offboarded-too")
	tenant["allowedBarClasses"], tenant["maxBars"] = []any{internalClass, graceClass}, 4
	upgrade := func(changes map[string]any) {
		t.Helper()
		maps.Copy(tenant, changes)
		if err := shared.UpgradeChart(t.Context(), release(append(tenants(), tenant)...)); err != nil {
			t.Fatal(err)
		}
	}
	upgrade(nil)
	t.Cleanup(func() {
		if err := shared.UpgradeChart(context.Background(), release(tenants()...)); err != nil {
			t.Error(err)
		}
	})
	waitEngaged(t, "offboarded", metav1.ConditionTrue, v1alpha1.ReasonEngaged)

	deployment := newDeployment("offboarded", "web", graceClass)
	service := newService("offboarded-too", "classy", "", withClass(v1alpha1.LoadBalancerClassPrefix+internalClass))
	both := newService("offboarded", "both", graceClass, withClass(v1alpha1.LoadBalancerClassPrefix+internalClass))
	refused := newDeployment("offboarded", "refused", "no-such-class")
	foo := newFoo("offboarded", "foo", replicas(1), func(f *v1alpha1.Foo) {
		f.Spec.Ports = []v1alpha1.ContainerPort{{ContainerPort: 8080}}
		f.Spec.Bar = &v1alpha1.FooBar{ClassName: internalClass}
	})
	plain := newFoo("offboarded-too", "plain", replicas(1))
	for _, object := range []client.Object{deployment, service, both, refused, foo, plain} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := waitExposed(t, deployment)
	waitExposed(t, service)
	waitState(t, both, v1alpha1.ReasonConflictingClasses)
	waitState(t, refused, v1alpha1.ReasonBarClassNotFound)
	waitFor(t, foo, v1alpha1.FooExposed, "True/"+v1alpha1.ReasonExposed)
	waitReady(t, plain)

	upgrade(map[string]any{"leaving": true})
	kubectlWaitReleased(t, "offboarded")
	sources := []client.Object{deployment, service, both, refused, deploymentOf(t, foo)}
	assertReleased(t, sources)
	waitFor(t, foo, v1alpha1.FooExposed, "Unknown/"+v1alpha1.ReasonTenantLeaving)
	waitFor(t, plain, v1alpha1.FooReady, "Unknown/"+v1alpha1.ReasonTenantLeaving)
	waitFor(t, plain, v1alpha1.FooProgressing, "Unknown/"+v1alpha1.ReasonTenantLeaving)

	// What opts in now is no use, and the Deployments of Foos are the tenant's.
	change(t, plain, func(f *v1alpha1.Foo) { f.Spec.Image = "registry.example/web:2" })
	waitFor(t, plain, v1alpha1.FooReady, "Unknown/"+v1alpha1.ReasonTenantLeaving)
	late := newDeployment("offboarded", "late", internalClass)
	if err := admin.Create(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	always(t, 2*time.Second, func(ctx context.Context) error {
		if err := nothingLeft(ctx, late); err != nil {
			return err
		}
		if got := deploymentOf(t, plain).Spec.Template.Spec.Containers[0].Image; got != "registry.example/web:1" {
			return fmt.Errorf("the Deployment of a Foo was managed: %s", got)
		}
		return nil
	})
	assertQuiet(t, 2*time.Second)

	// It is called off.
	upgrade(map[string]any{"leaving": false})
	again, _ := waitExposed(t, deployment)
	if again.UID == before.UID {
		t.Error("a released Bar came back")
	}
	waitState(t, both, v1alpha1.ReasonConflictingClasses)
	waitFor(t, foo, v1alpha1.FooExposed, "True/"+v1alpha1.ReasonExposed)
	eventually(t, wait, func(context.Context) error {
		if got := deploymentOf(t, plain).Spec.Template.Spec.Containers[0].Image; got != "registry.example/web:2" {
			return fmt.Errorf("the Foo is not managed again: %s", got)
		}
		return nil
	})
	eventually(t, wait, func(ctx context.Context) error {
		if condition, err := released(ctx, "offboarded"); condition != nil || err != nil {
			return fmt.Errorf("the condition Released is %+v, %w", condition, err)
		}
		return nil
	})

	// Something holds the release up: the Tenant says what.
	waitExposed(t, service)
	_, held := waitExposed(t, deployment)
	change(t, held, func(s *corev1.Service) { s.Finalizers = append(s.Finalizers, "example.com/hold") })
	upgrade(map[string]any{"leaving": true})
	eventually(t, wait, func(ctx context.Context) error {
		condition, err := released(ctx, "offboarded")
		if err != nil || condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != v1alpha1.ReasonStillReleasing {
			return fmt.Errorf("the condition Released is %+v, %w", condition, err)
		}
		for _, want := range []string{"Bar " + again.Name + " of Deployment offboarded/web", "Service offboarded/" + held.Name, "example.com/hold"} {
			if !strings.Contains(condition.Message, want) {
				return fmt.Errorf("%q is not in %q", want, condition.Message)
			}
		}
		if strings.Contains(condition.Message, "classy") {
			return fmt.Errorf("what is gone is listed: %q", condition.Message)
		}
		return nil
	})
	change(t, held, func(s *corev1.Service) { s.Finalizers = nil })
	kubectlWaitReleased(t, "offboarded")
	assertReleased(t, sources)

	// The second step.
	if err := shared.UpgradeChart(t.Context(), release(tenants()...)); err != nil {
		t.Fatal(err)
	}
	waitGone(t, &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "offboarded"}})
	if got := ptr.Deref(deploymentOf(t, foo).Spec.Replicas, 0); got != 1 {
		t.Errorf("the Foo's Deployment has %d replicas", got)
	}
	waitFor(t, foo, v1alpha1.FooReady, "Unknown/"+v1alpha1.ReasonTenantLeaving)
	for _, line := range logLines(t, marks, `"level":"error"`) {
		t.Errorf("logged as an error: %s", line)
	}
	for _, namespace := range []string{"offboarded", "offboarded-too"} {
		if err := admin.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
			t.Error(err)
		}
	}
}

// A Tenant whose namespaces are gone already can be off-boarded, too; one whose namespace cannot be
// seen is not released.
func TestOffboardingWithoutANamespace(t *testing.T) {
	tenant := &v1alpha1.Tenant{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "gone-already"},
		Spec:       v1alpha1.TenantSpec{Namespaces: []string{"gone-already"}, Leaving: true},
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gone-already"}}
	create(t, namespace)
	create(t, tenant)
	eventually(t, wait, func(ctx context.Context) error {
		condition, err := released(ctx, tenant.Name)
		if err != nil || condition == nil || condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "namespace gone-already, which is not served") {
			return fmt.Errorf("the condition Released is %+v, %w", condition, err)
		}
		return nil
	})
	if err := admin.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	waitGone(t, namespace)
	eventually(t, time.Minute, func(ctx context.Context) error {
		condition, err := released(ctx, tenant.Name)
		if err != nil || condition == nil || condition.Status != metav1.ConditionTrue {
			return fmt.Errorf("the condition Released is %+v, %w", condition, err)
		}
		return nil
	})
}

// released reads the condition Released of a Tenant, nil if it is absent.
func released(ctx context.Context, name string) (*metav1.Condition, error) {
	tenant := &v1alpha1.Tenant{}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: name}, tenant); err != nil {
		return nil, err
	}
	return meta.FindStatusCondition(tenant.Status.Conditions, v1alpha1.TenantReleased), nil
}

// kubectlWaitReleased waits as the guide for admins says.
func kubectlWaitReleased(t *testing.T, tenant string) {
	t.Helper()
	began := time.Now()
	_, _, err := shared.Kubectl(t.Context(), "", "--namespace", systemNamespace, "wait", "--for=condition=Released", "tenant/"+tenant, "--timeout=60s")
	if err != nil {
		condition, _ := released(t.Context(), tenant)
		t.Fatalf("%v\n%+v", err, condition)
	}
	t.Logf("released after %s", time.Since(began).Round(time.Millisecond))
	stdout, _, err := shared.Kubectl(t.Context(), "", "--namespace", systemNamespace, "get", "tenant", tenant, "--output=wide")
	if err != nil || !strings.Contains(stdout, "RELEASED") {
		t.Errorf("kubectl get tenant: %v\n%s", err, stdout)
	}
}

// assertReleased checks that nothing is left of the load balancers of some sources, right now.
func assertReleased(t *testing.T, sources []client.Object) {
	t.Helper()
	for _, source := range sources {
		err := nothingLeft(t.Context(), source)
		if get := admin.Get(t.Context(), client.ObjectKeyFromObject(source), source); get != nil {
			err = errors.Join(err, get)
		}
		if traces := claim.Traces(source); len(traces) > 0 {
			err = errors.Join(err, fmt.Errorf("%T %s carries %v", source, source.GetName(), traces))
		}
		if _, ok := source.(*appsv1.Deployment); ok && source.GetAnnotations()[v1alpha1.BarClassAnnotation] == "" {
			err = errors.Join(err, fmt.Errorf("the request of %s was removed, which is the tenant's", source.GetName()))
		}
		if err != nil {
			t.Error(err)
		}
	}
}
