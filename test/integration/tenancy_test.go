package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// A new entry in values.tenants is served without a restart; one that is taken out is served no
// longer.
func TestTenantsComeAndGoAtRunTime(t *testing.T) {
	before := processes()
	upgraded := time.Now()
	if err := shared.UpgradeChart(t.Context(), release(append(tenants(), newTenant("late", "late"))...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.UpgradeChart(context.Background(), release(tenants()...)); err != nil {
			t.Error(err)
		}
		waitGone(t, &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "late"}})
		_ = admin.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "late"}})
	})
	waitEngaged(t, "late", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	t.Logf("engaged %s after helm upgrade began", time.Since(upgraded).Round(time.Millisecond))
	foo := newFoo("late", "web")
	create(t, foo)
	waitReady(t, foo)
	if after := processes(); !slices.Equal(before, after) {
		t.Errorf("operator processes changed: %v before, %v after", before, after)
	}

	if err := shared.UpgradeChart(t.Context(), release(tenants()...)); err != nil {
		t.Fatal(err)
	}
	waitGone(t, &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "late"}})
	time.Sleep(time.Second) // the operator hears of the deletion by its watch, and nothing shows from outside that it has
	removed := time.Now()
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Image = "registry.example/web:2" })
	always(t, 2*time.Second, func(context.Context) error {
		if image := deploymentOf(t, foo).Spec.Template.Spec.Containers[0].Image; image != "registry.example/web:1" {
			return fmt.Errorf("a namespace that is nobody's any longer was served: %s", image)
		}
		return nil
	})
	// Without the RoleBinding it could not have: it must not even have tried, while it goes on
	// serving everybody else.
	for _, e := range operatorRequests(t, removed) {
		if e.Object().Namespace == "late" {
			t.Errorf("asked of a namespace that is nobody's any longer: %s", e)
		}
	}
	other := newFoo("quiet", "still-served")
	create(t, other)
	waitReady(t, other)
	if after := processes(); !slices.Equal(before, after) {
		t.Errorf("operator processes changed: %v before, %v after", before, after)
	}
}

// A lost RoleBinding disengages its namespace alone, says so, and is recovered from when it comes
// back.
func TestLostRoleBinding(t *testing.T) {
	binding := &rbacv1.RoleBinding{}
	key := client.ObjectKey{Namespace: "hostile", Name: tenancy.RoleBindingName}
	if err := admin.Get(t.Context(), key, binding); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	if err := admin.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	tenant := waitEngaged(t, "suite", metav1.ConditionFalse, v1alpha1.ReasonPartlyEngaged)
	t.Logf("reported %s after the RoleBinding was deleted", time.Since(since).Round(time.Millisecond))
	index := slices.IndexFunc(tenant.Status.Namespaces, func(n v1alpha1.TenantNamespaceStatus) bool { return n.Name == "hostile" })
	status := tenant.Status.Namespaces[index]
	if status.State != v1alpha1.NamespaceRefused || status.Reason != v1alpha1.ReasonAccessDenied || !strings.Contains(status.Message, "RoleBinding controlee-operator is missing") {
		t.Errorf("status %+v", status)
	}
	foo := newFoo("hostile", "web")
	create(t, foo)
	other := newFoo("quiet", "unharmed")
	create(t, other)
	waitReady(t, other)
	for _, e := range operatorRequests(t, since) {
		if e.Forbidden() {
			t.Logf("denied in the meantime: %s", e) // the watches that ended with the right
		}
	}

	restored := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: binding.Labels, Annotations: binding.Annotations},
		RoleRef:    binding.RoleRef, Subjects: binding.Subjects,
	}
	if err := admin.Create(t.Context(), restored); err != nil {
		t.Fatal(err)
	}
	waitReady(t, foo)
	waitEngaged(t, "suite", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
}

// The older Tenant has a contested namespace, also when its status is gone, as after a restore from
// a backup.
func TestOlderTenantHasANamespace(t *testing.T) {
	second := &v1alpha1.Tenant{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "aaa-second"},
		Spec:       v1alpha1.TenantSpec{Namespaces: []string{"team-a", systemNamespace}},
	}
	create(t, second)
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(second), second); err != nil {
			return err
		}
		reasons := map[string]string{}
		for _, n := range second.Status.Namespaces {
			reasons[n.Name] = n.Reason
		}
		if reasons["team-a"] != v1alpha1.ReasonNamespaceClaimed || reasons[systemNamespace] != v1alpha1.ReasonSystemNamespace {
			return fmt.Errorf("status %+v", second.Status)
		}
		return nil
	})
	for _, name := range []string{second.Name, "team-a"} {
		tenant := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name}}
		if err := admin.Status().Patch(t.Context(), tenant, client.RawPatch(types.MergePatchType, []byte(`{"status": null}`))); err != nil {
			t.Fatal(err)
		}
	}
	waitEngaged(t, "team-a", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	waitEngaged(t, second.Name, metav1.ConditionFalse, v1alpha1.ReasonSystemNamespace) // the first of the two in the order of names
	foo := newFoo("team-a", "still-served")
	create(t, foo)
	waitReady(t, foo)
}

// A tenant whose namespace does not exist is told so; when the namespace and its bindings come, it
// is served.
func TestDeletedNamespaceHarmsNobodyElse(t *testing.T) {
	if err := shared.UpgradeChart(t.Context(), release(append(tenants(), newTenant("doomed", "doomed"))...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.UpgradeChart(context.Background(), release(tenants()...)); err != nil {
			t.Error(err)
		}
	})
	waitEngaged(t, "doomed", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	foo := newFoo("doomed", "web", replicas(2))
	if err := admin.Create(t.Context(), foo); err != nil {
		t.Fatal(err)
	}
	waitReady(t, foo)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "doomed"}}
	if err := admin.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	waitGone(t, namespace)
	waitEngaged(t, "doomed", metav1.ConditionFalse, v1alpha1.ReasonAccessDenied)
	other := newFoo("quiet", "unharmed-too")
	create(t, other)
	waitReady(t, other)

	if err := shared.UpgradeChart(t.Context(), release(append(tenants(), newTenant("doomed", "doomed"))...)); err != nil {
		t.Fatal(err)
	}
	waitEngaged(t, "doomed", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	again := newFoo("doomed", "web")
	create(t, again)
	waitReady(t, again)
}

// processes gives the process ids of the operators.
func processes() (ids []int) {
	for _, process := range operators {
		if process.Running() {
			ids = append(ids, process.PID())
		}
	}
	slices.Sort(ids)
	return ids
}

// waitEngaged waits until a Tenant's condition Engaged has the status and reason.
func waitEngaged(t *testing.T, name string, status metav1.ConditionStatus, reason string) *v1alpha1.Tenant {
	t.Helper()
	tenant := &v1alpha1.Tenant{}
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: name}, tenant); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(tenant.Status.Conditions, v1alpha1.TenantEngaged)
		if condition == nil || condition.Status != status || condition.Reason != reason || condition.ObservedGeneration != tenant.Generation {
			return fmt.Errorf("tenant %s: %+v", name, tenant.Status)
		}
		return nil
	})
	return tenant
}
