package integration

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// logMarks are the lengths of the operators' logs.
func logMarks(t *testing.T) map[string]int64 {
	t.Helper()
	marks := map[string]int64{}
	for pod, process := range operators {
		info, err := os.Stat(process.LogPath)
		if err != nil {
			t.Fatal(err)
		}
		marks[pod] = info.Size()
	}
	return marks
}

// logLines gives the lines of the operators' logs since the marks that hold a text.
func logLines(t *testing.T, marks map[string]int64, text string) (lines []string) {
	t.Helper()
	for pod, process := range operators {
		log, err := os.ReadFile(process.LogPath)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(log[marks[pod]:]) {
			if bytes.Contains(line, []byte(text)) {
				lines = append(lines, pod+": "+string(line))
			}
		}
	}
	return lines
}

// A namespace that is deleted and an operator that is stopped are no errors, and are not logged as
// such; a namespace that is gone does not fill the log.
func TestOrdinaryEndsAreNoErrors(t *testing.T) {
	if err := shared.UpgradeChart(t.Context(), release(append(tenants(), newTenant("ordinary", "ordinary"))...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.UpgradeChart(context.Background(), release(tenants()...)); err != nil {
			t.Error(err)
		}
	})
	waitEngaged(t, "ordinary", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	marks := logMarks(t)
	deployment, service := newDeployment("ordinary", "web", internalClass), newService("ordinary", "api", internalClass)
	foo := newFoo("ordinary", "foo", replicas(2), func(f *v1alpha1.Foo) {
		f.Spec.Ports = []v1alpha1.ContainerPort{{ContainerPort: 8080}}
		f.Spec.Bar = &v1alpha1.FooBar{ClassName: internalClass}
	})
	for _, object := range []client.Object{deployment, service, foo} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	waitExposed(t, deployment)
	waitExposed(t, service)
	waitFor(t, foo, v1alpha1.FooExposed, "True/"+v1alpha1.ReasonExposed)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ordinary"}}
	if err := admin.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	waitGone(t, namespace)
	waitEngaged(t, "ordinary", metav1.ConditionFalse, v1alpha1.ReasonAccessDenied)
	eventually(t, time.Minute, func(ctx context.Context) error {
		bars := &v1alpha1.BarList{}
		if err := admin.List(ctx, bars, client.InNamespace(systemNamespace), client.MatchingLabels{v1alpha1.SourceNamespaceLabel: "ordinary"}); err != nil {
			return err
		}
		if len(bars.Items) > 0 {
			return fmt.Errorf("%d Bars are left", len(bars.Items))
		}
		return nil
	})
	time.Sleep(20 * time.Second) // two checks of the access at least, since they come every 15 s in the long run
	if lines := logLines(t, marks, `"Namespace is not served"`); len(lines) > 3*len(operators) {
		t.Errorf("logged again and again: %s", strings.Join(lines, ""))
	}
	waitForLeader(t)
	for pod, process := range operators {
		if err := process.Stop(); err != nil {
			t.Errorf("%s: %v", pod, err)
		}
		restart(t, process)
	}
	waitForLeader(t)
	for _, line := range logLines(t, marks, `"level":"error"`) {
		t.Errorf("logged as an error: %s", line)
	}
}

// A replica that is ready stays ready when a Tenant comes, served or not.
func TestATenantMoreDoesNotMakeAReplicaUnready(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	unready := make(chan string, 100)
	ready := map[string]int{} // answers by Pod, read when done is closed
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for pod, process := range operators {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, process.ProbeURL+"/readyz", http.NoBody)
				if err != nil {
					return
				}
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					continue // the test ends, or nobody listens, which the number of answers shows
				}
				response.Body.Close() //nolint:errcheck // only the status counts
				switch {
				case response.StatusCode == http.StatusOK:
					ready[pod]++
				case len(unready) < cap(unready):
					unready <- fmt.Sprintf("%s: %s", pod, response.Status)
				}
			}
		}
	}()
	for _, name := range []string{"no-such-namespace", "no-such-namespace-2", "no-such-namespace-3"} {
		create(t, &v1alpha1.Tenant{
			ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name}, Spec: v1alpha1.TenantSpec{Namespaces: []string{name}},
		})
		waitEngaged(t, name, metav1.ConditionFalse, v1alpha1.ReasonAccessDenied)
	}
	cancel()
	<-done
	if len(unready) > 0 {
		t.Errorf("%d answers that a replica is not ready, such as %s", len(unready), <-unready)
	}
	for pod := range operators {
		if ready[pod] < 10 { // several a second while three Tenants come
			t.Errorf("%s: only %d answers that it is ready, so the test sees nothing", pod, ready[pod])
		}
	}
}

// Nothing that the operator asks for is unknown to the API server, whichever optional kinds that
// has.
func TestNoDiscoveryIsAnswered404(t *testing.T) {
	asked := false
	for _, e := range operatorRequests(t, began) {
		asked = asked || e.RequestURI == "/apis"
		if e.ObjectRef == nil && e.Code() == http.StatusNotFound {
			t.Errorf("asked for what there is not: %s", e)
		}
	}
	if !asked {
		t.Error("the log does not show that the operator asks for the groups")
	}
}

// An upgrade brings a kind of load balancer before the right to read it: every namespace is served,
// without that kind, and says so. The right comes: the kind is served.
func TestAnOptionalKindWithoutARight(t *testing.T) {
	needBarClasses(t)
	tenant := newTenant("optional", "optional")
	tenant["allowedBarClasses"] = []any{webClass, internalClass}
	if err := shared.UpgradeChart(t.Context(), release(append(tenants(), tenant)...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.UpgradeChart(context.Background(), release(tenants()...)); err != nil {
			t.Error(err)
		}
		_ = admin.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "optional"}})
	})
	waitEngaged(t, "optional", metav1.ConditionTrue, v1alpha1.ReasonEngaged)

	role := &rbacv1.ClusterRole{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "controlee-operator-tenant"}, role); err != nil {
		t.Fatal(err)
	}
	complete := role.DeepCopy().Rules
	setRules := func(ctx context.Context, rules []rbacv1.PolicyRule) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(role), role); err != nil {
			return err
		}
		role.Rules = rules
		return admin.Update(ctx, role)
	}
	t.Cleanup(func() {
		if err := setRules(context.Background(), complete); err != nil {
			t.Error(err)
		}
	})
	var since time.Time
	withoutOperator(t, func() {
		if err := setRules(t.Context(), withoutResource(complete, "httproutes")); err != nil {
			t.Fatal(err)
		}
		since = time.Now()
	})
	status := waitEngaged(t, "optional", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	want := "served without HTTPRoute: the operator may not list httproutes.gateway.networking.k8s.io in namespace optional"
	if got := status.Status.Namespaces[0].Message; !strings.HasPrefix(got, want) {
		t.Errorf("the namespace says %q, want %q", got, want)
	}
	waitEngaged(t, "suite", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	web, internal := newDeployment("optional", "web", webClass), newDeployment("optional", "internal", internalClass)
	create(t, web)
	create(t, internal)
	waitState(t, web, string(v1alpha1.PhaseFailed)+": the operator may not list httproutes.gateway.networking.k8s.io in namespace optional")
	waitExposed(t, internal)
	for _, e := range operatorRequests(t, since) {
		if e.Forbidden() {
			t.Errorf("denied: %s", e)
		}
	}

	if err := setRules(t.Context(), complete); err != nil {
		t.Fatal(err)
	}
	// A change of the RoleBinding has the rights looked at again at once; without one the operator
	// comes to it by itself.
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "optional", Name: tenancy.RoleBindingName}}
	if err := admin.Patch(t.Context(), binding, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"test":"x"}}}`))); err != nil {
		t.Fatal(err)
	}
	eventually(t, wait, func(ctx context.Context) error {
		tenant := &v1alpha1.Tenant{}
		if err := admin.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: "optional"}, tenant); err != nil {
			return err
		}
		if message := tenant.Status.Namespaces[0].Message; message != "" {
			return fmt.Errorf("the namespace says %q", message)
		}
		return nil
	})
	change(t, web, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort = 9090 })
	waitRoute(t, web, v1alpha1.HTTPRouteKind)
}

// withoutResource takes a resource out of some rules.
func withoutResource(rules []rbacv1.PolicyRule, resource string) (left []rbacv1.PolicyRule) {
	for i := range rules {
		rule := rules[i].DeepCopy()
		var resources []string
		for _, name := range rule.Resources {
			if name != resource {
				resources = append(resources, name)
			}
		}
		if rule.Resources = resources; len(resources) > 0 {
			left = append(left, *rule)
		}
	}
	return left
}
