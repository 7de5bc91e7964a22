package chart_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/controlee/controlee/test/cluster"
)

// tenant is an entry of values.tenants with an editor.
func tenant(name string, create bool, namespaces ...string) map[string]any {
	list := make([]any, len(namespaces))
	for i, namespace := range namespaces {
		list[i] = namespace
	}
	return map[string]any{
		"name": name, "namespaces": list,
		"editors":          map[string]any{"groups": []any{name}},
		"createNamespaces": map[string]any{"create": create},
	}
}

func tenants(entries ...map[string]any) map[string]any {
	list := make([]any, len(entries))
	for i, entry := range entries {
		list[i] = entry
	}
	return map[string]any{"tenants": list}
}

// From the first install to what is left after the last: one release's life.
func TestLife(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, "team-a")
	e.settle(t)
	before := e.objects(t)
	chart := cluster.Chart{Release: "controlee", Namespace: systemNamespace, Values: tenants(tenant("team-a", false, "team-a"))}
	t.Cleanup(func() { e.deleteNamespaces(t, systemNamespace, "team-b") })
	e.install(t, chart)

	t.Run("installs BarClasses, Tenants and a Lease in one go", func(t *testing.T) {
		if !e.exists(t, barClassGVR, "", "internal") {
			t.Error("BarClass internal is missing")
		}
		record, err := e.dynamic.Resource(tenantGVR).Namespace(systemNamespace).Get(t.Context(), "team-a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"namespaces": []any{"team-a"}, "weight": int64(1), "leaving": false}
		if spec := nested(t, record, "spec"); !reflect.DeepEqual(spec, want) {
			t.Errorf("the Tenant's spec is %v, want %v", spec, want)
		}
		lease, err := e.kube.CoordinationV1().Leases(systemNamespace).Get(t.Context(), "controlee", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(lease.Spec, coordinationv1.LeaseSpec{}) {
			t.Errorf("the Lease has a spec: %v", lease.Spec)
		}
	})

	t.Run("an upgrade adds a tenant and leaves leader and Pods alone", func(t *testing.T) { testAddTenant(t, e, chart) })
	t.Run("an upgrade removes a tenant and keeps its namespace", func(t *testing.T) { testRemoveTenant(t, e, chart) })
	t.Run("a second release is refused", func(t *testing.T) { testSecondRelease(t, e, chart) })
	t.Run("namespaces are looked at before anything is changed", func(t *testing.T) { testNamespaces(t, e, chart) })
	t.Run("an upgrade tells of CRDs that differ", func(t *testing.T) { testStaleCRDs(t, e, chart) })

	t.Run("an uninstall leaves CRDs, and namespaces with what is not ours", func(t *testing.T) {
		if err := e.UninstallChart(t.Context(), chart); err != nil {
			t.Fatal(err)
		}
		// Kubernetes' own in a new namespace, and what it registers for a CRD.
		var want []string
		for _, namespace := range []string{systemNamespace, "team-b"} {
			want = append(want,
				"configmaps. "+namespace+"/kube-root-ca.crt", "namespaces. "+namespace, "serviceaccounts. "+namespace+"/default")
		}
		want = append(want, "apiservices.apiregistration.k8s.io v1alpha1.controlee.dev")
		for _, kind := range []string{"foos", "bars", "barclasses", "tenants", "fences"} {
			want = append(want, "customresourcedefinitions.apiextensions.k8s.io "+kind+".controlee.dev")
		}
		// A test before this one may have left the CRDs there.
		want = slices.DeleteFunc(want, func(name string) bool {
			return slices.ContainsFunc(slices.Collect(maps.Keys(before)), func(o object) bool { return o.String() == name })
		})
		slices.Sort(want)
		// Pods, EndpointSlices and the like are collected after what they were made for.
		var left []string
		if !waitFor(func() bool {
			left = added(before, e.objects(t))
			return slices.Equal(left, want)
		}) {
			t.Errorf("left:\n%s\nwant:\n%s", strings.Join(left, "\n"), strings.Join(want, "\n"))
		}
		if !e.exists(t, crdGVR, "", "foos.controlee.dev") {
			t.Error("the CRDs are gone")
		}
	})
}

func testAddTenant(t *testing.T, e *env, chart cluster.Chart) {
	// What a leader writes.
	leases := e.kube.CoordinationV1().Leases(systemNamespace)
	lease, err := leases.Get(t.Context(), "controlee", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := metav1.NewMicroTime(time.Now())
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("controlee-0_1234"), LeaseDurationSeconds: ptr.To[int32](6), AcquireTime: &now, RenewTime: &now, LeaseTransitions: ptr.To[int32](3),
	}
	if lease, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	deployments := e.kube.AppsV1().Deployments(systemNamespace)
	deployment, err := deployments.Get(t.Context(), "controlee", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	chart.Values = tenants(tenant("team-a", false, "team-a"), tenant("team-b", true, "team-b"))
	e.upgrade(t, chart)

	after, err := leases.Get(t.Context(), "controlee", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if after.ResourceVersion != lease.ResourceVersion || *after.Spec.HolderIdentity != "controlee-0_1234" {
		t.Errorf("the upgrade wrote the Lease: %v", after)
	}
	deploymentAfter, err := deployments.Get(t.Context(), "controlee", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if deploymentAfter.Generation != deployment.Generation {
		t.Error("the upgrade changed the Deployment: the operator would be restarted for a new tenant")
	}
	if !e.exists(t, tenantGVR, systemNamespace, "team-b") {
		t.Error("no record of the new tenant was made")
	}
	bindings, err := e.kube.RbacV1().RoleBindings("team-b").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, binding := range bindings.Items {
		names = append(names, binding.Name)
	}
	if want := []string{"controlee-operator", "controlee-tenant-edit"}; !slices.Equal(names, want) {
		t.Errorf("RoleBindings of the new tenant: %v, want %v", names, want)
	}
}

func testRemoveTenant(t *testing.T, e *env, chart cluster.Chart) {
	e.upgrade(t, chart) // as it was: team-a alone
	if e.exists(t, tenantGVR, systemNamespace, "team-b") {
		t.Error("the record of the tenant is still there")
	}
	bindings, err := e.kube.RbacV1().RoleBindings("team-b").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(bindings.Items) > 0 {
		t.Errorf("%d RoleBindings are left, want none", len(bindings.Items))
	}
	namespace, err := e.kube.CoreV1().Namespaces().Get(t.Context(), "team-b", metav1.GetOptions{})
	if err != nil || namespace.DeletionTimestamp != nil {
		t.Errorf("the namespace with the team's work is gone or going (%v)", err)
	}
}

func testSecondRelease(t *testing.T, e *env, chart cluster.Chart) {
	for _, second := range []cluster.Chart{
		{Release: "another", Namespace: systemNamespace},
		{Release: "another", Namespace: "another"},
		{Release: "controlee", Namespace: "another"},
	} {
		before := e.objects(t)
		err := e.InstallChart(t.Context(), second)
		want := `Controlee is installed in this cluster already, as release "controlee" in namespace "controlee-system", and one cluster holds one release`
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s/%s: got %v, want %q", second.Namespace, second.Release, err, want)
		}
		if second.Namespace != chart.Namespace {
			e.deleteNamespaces(t, second.Namespace) // made by --create-namespace
		}
		if more := added(before, e.objects(t)); len(more) > 0 {
			t.Errorf("%s/%s was refused and left %v", second.Namespace, second.Release, more)
		}
	}
}

func testNamespaces(t *testing.T, e *env, chart cluster.Chart) {
	before := e.latest(t, chart).Version
	for want, entry := range map[string]map[string]any{
		`namespace "nowhere" of "team-c" does not exist: make it first (kubectl create namespace nowhere)`: tenant("team-c", false, "nowhere"),
		`namespace "team-a" of "team-c" exists, and was not made by this release`:                          tenant("team-c", true, "team-a"),
	} {
		refused := chart
		refused.Values = tenants(entry)
		if err := e.UpgradeChart(t.Context(), refused); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if after := e.latest(t, chart).Version; after != before {
		t.Errorf("a refused upgrade made revision %d of %d", after, before)
	}
	// A namespace that this release made, and kept when the tenant went, is taken back.
	again := chart
	again.Values = tenants(tenant("team-a", false, "team-a"), tenant("team-b", true, "team-b"))
	e.upgrade(t, again)
	e.upgrade(t, chart)
}

func testStaleCRDs(t *testing.T, e *env, chart cluster.Chart) {
	const note = "These CRDs in the cluster differ"
	e.upgrade(t, chart)
	if notes := e.latest(t, chart).Info.Notes; strings.Contains(notes, note) {
		t.Fatalf("the CRDs are the chart's, and the notes say otherwise:\n%s", notes)
	}
	crds := e.dynamic.Resource(crdGVR)
	const path = "/spec/versions/0/schema/openAPIV3Schema/description"
	patch := `[{"op": "replace", "path": %q, "value": %q}]`
	current, err := crds.Get(t.Context(), "foos.controlee.dev", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(current.Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	description, _, err := unstructured.NestedString(versions[0].(map[string]any), "schema", "openAPIV3Schema", "description") //nolint:forcetypeassert // a CRD
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		description string
		differs     bool
	}{{"An older text.", true}, {description, false}} {
		if _, err := crds.Patch(t.Context(), "foos.controlee.dev", types.JSONPatchType, fmt.Appendf(nil, patch, path, c.description), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		e.upgrade(t, chart)
		notes := e.latest(t, chart).Info.Notes
		if told := strings.Contains(notes, note+" from the chart's, since Helm never changes CRDs on upgrade: foos.controlee.dev. Run:"); told != c.differs {
			t.Errorf("the CRD differs: %v; the notes say so: %v:\n%s", c.differs, told, notes)
		}
	}
}

// Another ServiceAccount has the operator's rights, and the one by the usual name has none.
func TestServiceAccountName(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace, "team-a")
	foos := schema.GroupResource{Group: "controlee.dev", Resource: "foos"}
	key := resourceKey(foos.Group, foos.Resource)
	want := rights{key: rightsOf(readRole(t, "operator/tenant.yaml").Rules)[key]}.set()
	if len(want) == 0 {
		t.Fatal("the operator's rules say nothing of Foos")
	}
	for _, c := range []struct {
		name   string
		values map[string]any
	}{
		{"made by the chart", map[string]any{"name": "operator"}},
		{"made before", map[string]any{"name": "operator", "create": false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			chart := cluster.Chart{Release: "controlee", Namespace: systemNamespace}
			chart.Values = with(tenants(tenant("team-a", false, "team-a")), map[string]any{"serviceAccount": c.values})
			e.install(t, chart)
			for account, want := range map[string]map[string]bool{"operator": want, "controlee": nil} {
				got := allowed(t, e.serviceAccount(t, systemNamespace, account), []schema.GroupResource{foos}, "team-a", "")
				compare(t, "ServiceAccount "+account, got, want, nil)
			}
		})
	}
}

// Each file of ci values is installed, in a namespace that enforces restricted Pod Security, and its Pods are made.
func TestInstallsWithEachValuesFile(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace, "team-a", "shop")
	t.Cleanup(func() { e.deleteNamespaces(t, "team-b", "team-b-staging") })
	releases := []string{"controlee", "a2345678901234567890123456789012345678901234567890123", "1st.release"}
	for i, file := range valuesFiles(t) {
		name := releases[i%len(releases)]
		t.Run(filepath.Base(file)+" as "+name, func(t *testing.T) {
			chart := cluster.Chart{
				Release: name, Namespace: systemNamespace, ValuesFiles: []string{file},
				// The Prometheus operator is not there.
				Values: map[string]any{"metrics": map[string]any{"serviceMonitor": map[string]any{"enabled": false}}},
			}
			e.install(t, chart)
			e.podsOf(t, name)
			// The API server took everything as it was written: the second time nothing is.
			before := e.versions(t)
			e.upgrade(t, chart)
			for o, version := range e.versions(t) {
				if before[o] != version {
					t.Errorf("an upgrade with the same values wrote %s", o)
				}
			}
		})
	}
}

// podsOf waits until the Deployment of a release has all its Pods, and says why if they are refused.
func (e *env) podsOf(t *testing.T, release string) {
	t.Helper()
	selector := metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + release}
	var refused error
	eventually(t, "the operator's Pods are made", func() bool {
		deployments, err := e.kube.AppsV1().Deployments(systemNamespace).List(t.Context(), selector)
		if err != nil || len(deployments.Items) != 1 {
			t.Fatalf("found %d Deployments (%v), want 1", len(deployments.Items), err)
		}
		deployment := deployments.Items[0]
		for _, condition := range deployment.Status.Conditions {
			if condition.Type == "ReplicaFailure" && condition.Status == corev1.ConditionTrue {
				refused = errors.New(condition.Message)
				return true
			}
		}
		pods, err := e.kube.CoreV1().Pods(systemNamespace).List(t.Context(), selector)
		return err == nil && len(pods.Items) == int(*deployment.Spec.Replicas)
	})
	if refused != nil {
		t.Fatal(refused)
	}
}

// versions are the resource versions of what the release made.
func (e *env) versions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	selector := metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=Helm"}
	lists, err := e.kube.Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			// Controllers write the status of these.
			if !slices.Contains(resource.Verbs, "list") || slices.Contains([]string{"deployments", "replicasets", "poddisruptionbudgets", "resourcequotas", "validatingadmissionpolicies"}, resource.Name) {
				continue
			}
			items, err := e.dynamic.Resource(version.WithResource(resource.Name)).List(t.Context(), selector)
			if err != nil {
				t.Fatal(err)
			}
			if err := meta.EachListItem(items, func(item runtime.Object) error {
				accessor, err := meta.Accessor(item)
				if err == nil {
					all[resource.Name+" "+accessor.GetNamespace()+"/"+accessor.GetName()] = accessor.GetResourceVersion()
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(all) < 10 {
		t.Fatalf("found %d objects of the release, want 10 or more", len(all))
	}
	return all
}
