package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
	"github.com/controlee/controlee/test/cluster"
)

// firefighter is a member of the break-glass group.
func firefighter(t *testing.T) client.Client {
	t.Helper()
	config, err := shared.UserConfig("firefighter", "system:masters", breakGlassGroup)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A Service whose Bar is gone is found by the sweep at the start: reported only, if so wished, and else deleted. What belongs to a Bar, or
// was not made for one, stays.
func TestSweepRemovesObjectsWithoutABar(t *testing.T) {
	glass := firefighter(t)
	orphaned, kept := newDeployment("claim-sweep", "orphaned", internalClass), newDeployment("claim-sweep", "kept", internalClass)
	create(t, orphaned)
	create(t, kept)
	bar, orphan := waitExposed(t, orphaned)
	_, other := waitExposed(t, kept)
	needBarClasses(t)
	routed := newDeployment("bar-gateway", "orphaned", webClass)
	create(t, routed)
	route := waitRoute(t, routed, v1alpha1.HTTPRouteKind)
	foreign := newService("claim-sweep", "foreign", "")
	foreign.Labels = map[string]string{v1alpha1.BarLabel: "no-such-bar"}
	if err := glass.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = glass.Delete(context.Background(), foreign) })

	for _, process := range operators {
		if err := process.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	for _, lost := range []*v1alpha1.Bar{bar, barObject(routed)} {
		if err := glass.Delete(t.Context(), lost); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range []*appsv1.Deployment{orphaned, routed} {
		change(t, source, func(d *appsv1.Deployment) { askFor(d, "") })
	}

	dry, err := shared.StartOperator(t.Context(), cluster.Operator{
		Namespace: systemNamespace, ServiceAccount: serviceAccount, PodName: "controlee-dry",
		Args: []string{"--orphan-sweep-dry-run", "--orphan-sweep-interval=1s", "--metrics-auth=false", "--log-level=debug"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(dry.LogTail(100))
			dry.Kill()
		}
	})
	for _, found := range []string{`{kind="Service"} 2`, `{kind="HTTPRoute"} 1`, `{kind="Bar"} 0`} { // the route had a Service of its own
		eventually(t, wait, func(ctx context.Context) error { return hasMetric(ctx, dry.MetricsURL, "controlee_orphans"+found) })
	}
	for _, object := range []client.Object{orphan, route} {
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Errorf("a dry run deleted: %v", err)
		}
	}
	if log := dry.LogTail(10000); !strings.Contains(log, "Found an orphan") || !strings.Contains(log, orphan.Name) {
		t.Error("the log does not name the orphan")
	}
	if err := dry.Stop(); err != nil {
		t.Fatal(err)
	}

	for _, process := range operators {
		restart(t, process)
	}
	waitGone(t, orphan)
	waitGone(t, route)
	always(t, 2*time.Second, func(ctx context.Context) error {
		return errors.Join(admin.Get(ctx, client.ObjectKeyFromObject(other), other), admin.Get(ctx, client.ObjectKeyFromObject(foreign), foreign))
	})
	waitExposed(t, kept)
}

// A Bar that an administrator deleted by force is made again, and gets its objects back: to the clients nothing happens.
func TestBarDeletedByForce(t *testing.T) {
	deployment := newDeployment("claim-sweep", "forced", internalClass)
	create(t, deployment)
	bar, before := waitExposed(t, deployment)
	if err := firefighter(t).Delete(t.Context(), bar); err != nil {
		t.Fatal(err)
	}
	eventually(t, wait, func(ctx context.Context) error {
		now := &v1alpha1.Bar{}
		if err := admin.Get(ctx, barKey(deployment), now); err != nil {
			return err
		}
		if now.UID == bar.UID {
			return errors.New("it is still the same")
		}
		return nil
	})
	if _, after := waitExposed(t, deployment); after.UID != before.UID {
		t.Error("the Service was made anew")
	}
}

// The namespace of a tenant with Foos and Bars is deleted while no operator runs: nothing holds it up, and the Bars go when one runs.
func TestNamespaceDeletedWhileTheOperatorIsStopped(t *testing.T) {
	if err := shared.UpgradeChart(t.Context(), release(append(tenants(), newTenant("vanishing", "vanishing"))...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.UpgradeChart(context.Background(), release(tenants()...)); err != nil {
			t.Error(err)
		}
	})
	waitEngaged(t, "vanishing", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	sources := []client.Object{
		newDeployment("vanishing", "web", internalClass), newService("vanishing", "api", internalClass),
	}
	foo := newFoo("vanishing", "foo", replicas(2), func(f *v1alpha1.Foo) {
		f.Spec.Ports = []v1alpha1.ContainerPort{{ContainerPort: 8080}}
		f.Spec.Bar = &v1alpha1.FooBar{ClassName: internalClass}
	})
	for _, object := range append(sources, foo) {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range sources {
		waitExposed(t, source)
	}
	waitFor(t, foo, v1alpha1.FooExposed, "True/"+v1alpha1.ReasonExposed)

	thereAre := func(ctx context.Context, n int) error {
		bars := &v1alpha1.BarList{}
		if err := admin.List(ctx, bars, client.InNamespace(systemNamespace), client.MatchingLabels{v1alpha1.TenantLabel: "vanishing"}); err != nil {
			return err
		}
		if len(bars.Items) != n {
			return fmt.Errorf("%d Bars, want %d", len(bars.Items), n)
		}
		return nil
	}
	if err := thereAre(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vanishing"}}
	withoutOperator(t, func() {
		deleted := time.Now()
		if err := admin.Delete(t.Context(), namespace); err != nil {
			t.Fatal(err)
		}
		eventually(t, time.Minute, func(ctx context.Context) error {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); !apierrors.IsNotFound(err) {
				return fmt.Errorf("still there: %+v, %w", namespace.Status, err)
			}
			return nil
		})
		t.Logf("the namespace was gone %s after its deletion", time.Since(deleted).Round(100*time.Millisecond))
	})
	restarted := time.Now()
	eventually(t, time.Minute, func(ctx context.Context) error { return thereAre(ctx, 0) })
	t.Logf("the Bars were gone %s after the operator was back", time.Since(restarted).Round(100*time.Millisecond))
}

// A RoleBinding that is missing for a moment is no outage.
func TestRoleBindingMissingForAMoment(t *testing.T) {
	deployment := newDeployment("claim-sweep", "bound", internalClass)
	create(t, deployment)
	bar, service := waitExposed(t, deployment)
	binding := &rbacv1.RoleBinding{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "claim-sweep", Name: tenancy.RoleBindingName}, binding); err != nil {
		t.Fatal(err)
	}
	if err := admin.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	waitEngaged(t, "claims", metav1.ConditionFalse, v1alpha1.ReasonPartlyEngaged)
	again := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: binding.Namespace, Name: binding.Name, Labels: binding.Labels, Annotations: binding.Annotations},
		RoleRef:    binding.RoleRef, Subjects: binding.Subjects,
	}
	if err := admin.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	waitEngaged(t, "claims", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	barNow, serviceNow := waitExposed(t, deployment)
	if barNow.UID != bar.UID || serviceNow.UID != service.UID {
		t.Errorf("made anew: Bar %s, %s; Service %s, %s", bar.UID, barNow.UID, service.UID, serviceNow.UID)
	}
}

// hasMetric checks that an operator serves a line of metrics.
func hasMetric(ctx context.Context, url, want string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if !strings.Contains(string(body), want+"\n") {
		ours := regexp.MustCompile(`(?m)^controlee_orphans.*$`).FindAllString(string(body), -1)
		return fmt.Errorf("no %s among %q", want, ours)
	}
	return nil
}
