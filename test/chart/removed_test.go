package chart_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/commands"
)

// helmLine runs a line with Helm's own program, as an admin types it: what a user of the SDK sets
// is not set.
func (e *env) helmLine(t *testing.T, dir, line string) (stdout string, err error) {
	t.Helper()
	chart, absErr := filepath.Abs(chartPath)
	if absErr != nil {
		t.Fatal(absErr)
	}
	line = strings.NewReplacer("CHART", chart, "YOUR-VALUES.yaml", "values.yaml").Replace(line)
	stdout, stderr, err := e.Shell(t.Context(), "", dir, line)
	if err == nil && stderr != "" {
		t.Errorf("%s: %s", line, stderr)
	}
	return stdout, err
}

// valuesFile writes values.yaml into a new folder.
func valuesFile(t *testing.T, values map[string]any) (dir string) {
	t.Helper()
	dir = t.TempDir()
	content, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "values.yaml"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tenantNames lists the Tenants of the system namespace.
func (e *env) tenantNames(t *testing.T) string {
	t.Helper()
	list, err := e.dynamic.Resource(tenantGVR).Namespace(systemNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	return strings.Join(names, " ")
}

// madeRoute makes a route as a Bar does, in team-a and before a release locks it.
func (e *env) madeRoute(t *testing.T) schema.GroupVersionResource {
	t.Helper()
	routes := e.serveRoutes(t)
	route := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
		"metadata": map[string]any{"name": "web", "labels": map[string]any{v1alpha1.BarLabel: "web"}},
		"spec":     map[string]any{"hostnames": []any{"web.example.com"}},
	}}
	eventually(t, "the policies of an earlier release are forgotten", func() bool {
		_, err := e.dynamic.Resource(routes).Namespace("team-a").Create(t.Context(), route, metav1.CreateOptions{})
		return err == nil
	})
	return routes
}

const upgradeLine = "helm upgrade controlee CHART --namespace controlee-system"

// An upgrade without the values file has no tenants. It must not remove those that are installed,
// unless it is asked to.
func TestUpgradeThatRemovesEveryTenantIsRefused(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace, "team-a", "team-b")
	routes := e.madeRoute(t)
	dir := valuesFile(t, tenants(tenant("team-a", false, "team-a"), tenant("team-b", false, "team-b")))
	uninstall := cluster.Chart{Release: "controlee", Namespace: systemNamespace}
	if _, err := e.helmLine(t, dir, "helm install controlee CHART --namespace controlee-system --values values.yaml"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.UninstallChart(context.WithoutCancel(t.Context()), uninstall); err != nil {
			t.Error(err)
		}
	})
	if _, err := e.dynamic.Resource(tenantGVR).Namespace(systemNamespace).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "controlee.dev/v1alpha1", "kind": "Tenant", "metadata": map[string]any{"name": "by-hand"},
		"spec": map[string]any{"namespaces": []any{"by-hand"}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	refusal := ""
	for _, flags := range []string{" --set log.level=debug", " --set log.level=debug --dry-run=server", " --reset-values", " --install --set log.level=debug"} {
		_, err := e.helmLine(t, dir, upgradeLine+flags)
		if err == nil || !strings.Contains(err.Error(), "this upgrade would remove every tenant that is installed (team-a, team-b)") {
			t.Errorf("helm upgrade%s: %v, want a refusal", flags, err)
			continue
		}
		refusal = err.Error()
	}
	if got := e.tenantNames(t); got != "by-hand team-a team-b" {
		t.Fatalf("the Tenants are %q", got)
	}
	lines := commands.Of(refusal)
	if len(lines) != 2 {
		t.Fatalf("the refusal names the commands %q, want two", lines)
	}
	for _, line := range lines {
		out, err := e.helmLine(t, dir, line+" --set log.level=debug")
		if err != nil || strings.Contains(out, "This upgrade removes") {
			t.Errorf("%s, which the refusal names: %v\n%s", line, err, out)
		}
	}
	if got := e.tenantNames(t); got != "by-hand team-a team-b" {
		t.Errorf("the Tenants are %q", got)
	}
	// Where nothing can be looked up, nothing is refused: there the diff has to be read.
	if _, err := e.helmLine(t, dir, "helm template controlee CHART --namespace controlee-system --is-upgrade --kube-version 1.37.0"); err != nil {
		t.Error(err)
	}

	out, err := e.helmLine(t, dir, upgradeLine+" --values values.yaml --set-json 'tenants=[{\"name\":\"team-bb\",\"namespaces\":[\"team-b\"]}]'")
	if err != nil || !strings.Contains(out, "- tenant team-a, with namespace team-a: not marked as leaving.") || strings.Contains(out, "tenant team-b,") {
		t.Errorf("an upgrade that renames one tenant and removes the other: %v\n%s", err, out)
	}
	// A rollback renders nothing, so that it cannot be refused: it puts back the tenants of its
	// revision.
	if _, err := e.helmLine(t, dir, "helm rollback controlee 1 --namespace controlee-system"); err != nil {
		t.Error(err)
	}
	// Without any flag Helm keeps the values of the release.
	if out, err := e.helmLine(t, dir, upgradeLine); err != nil || strings.Contains(out, "This upgrade removes") {
		t.Errorf("an upgrade without flags: %v\n%s", err, out)
	}
	out, err = e.helmLine(t, dir, upgradeLine+" --set allowRemovingAllTenants=true")
	if err != nil || !strings.Contains(out, "- tenant team-b, with namespace team-b: not marked as leaving.") || !strings.Contains(out, "allowRemovingAllTenants is true") {
		t.Errorf("an upgrade that removes all on purpose: %v\n%s", err, out)
	}
	if got := e.tenantNames(t); got != "by-hand" {
		t.Errorf("the Tenants are %q, want only the one that is not of the release", got)
	}
	// The commands of the notes. The one that waits is about an entry that was put back.
	for _, line := range commands.Of(out) {
		if strings.HasPrefix(line, "kubectl delete bars ") && e.exists(t, routes, "team-a", "web") {
			t.Errorf("a Bar, and its host name with it, is let go of while its route serves:\n%s", out)
		}
		if strings.HasPrefix(line, "kubectl delete") || strings.HasPrefix(line, "kubectl annotate") {
			if _, _, err := e.Shell(t.Context(), "", dir, line); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := e.helmLine(t, dir, upgradeLine+" --reset-values"); err != nil {
		t.Errorf("a release without tenants: %v", err)
	}
}

// Tenants whose load balancers were released may go, even the last ones. Being marked as leaving is
// not enough.
func TestUpgradeRemovesTenantsThatWereReleased(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace, "team-a")
	leaving := tenant("team-a", false, "team-a")
	leaving["leaving"] = true
	chart := cluster.Chart{Release: "controlee", Namespace: systemNamespace, Values: tenants(leaving)}
	e.install(t, chart)
	records := e.dynamic.Resource(tenantGVR).Namespace(systemNamespace)
	record, err := records.Get(t.Context(), "team-a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, observed := range []int64{0, record.GetGeneration()} {
		if _, err := e.helmLine(t, t.TempDir(), upgradeLine+" --reset-values"); err == nil || !strings.Contains(err.Error(), "this upgrade would remove every tenant") {
			t.Errorf("a tenant that is leaving and not released may go: %v", err)
		}
		patch := fmt.Sprintf(`{"status": {"conditions": [{"type": "Released", "status": "True", "reason": "Released", "message": "",
			"lastTransitionTime": "2030-01-01T00:00:00Z", "observedGeneration": %d}]}}`, observed)
		if _, err := records.Patch(t.Context(), "team-a", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	out, err := e.helmLine(t, t.TempDir(), upgradeLine+" --reset-values")
	if err != nil || !strings.Contains(out, "- tenant team-a, with namespace team-a: its load balancers were released before.") || strings.Contains(out, "kubectl delete ") {
		t.Errorf("got %v\n%s", err, out)
	}
}

// protection is what the chart puts into a namespace to protect it.
var protection = map[schema.GroupVersionResource]string{
	{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}: "controlee-default-deny",
	{Version: "v1", Resource: "resourcequotas"}:                              "controlee-tenant",
	{Version: "v1", Resource: "limitranges"}:                                 "controlee-tenant",
}

// A namespace that the chart made keeps what protects it as long as it is there, and the chart
// takes both up again.
func TestProtectionStaysWithTheNamespace(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace, "team-a")
	t.Cleanup(func() { e.deleteNamespaces(t, "team-b") })
	furnished := func(pods string) map[string]any {
		entry := tenant("team-b", true, "team-b")
		create := map[string]any{
			"create": true, "defaultDenyNetworkPolicy": true, "resourceQuota": map[string]any{"pods": pods},
			"limitRange": map[string]any{"default": map[string]any{"memory": "256Mi"}},
		}
		entry["createNamespaces"] = create
		return entry
	}
	with := func(entries ...map[string]any) cluster.Chart {
		entries = append(entries, tenant("team-a", false, "team-a"))
		return cluster.Chart{Release: "controlee", Namespace: systemNamespace, Values: tenants(entries...)}
	}
	uids := map[schema.GroupVersionResource]types.UID{}
	check := func(when, pods string) {
		t.Helper()
		for gvr, name := range protection {
			object, err := e.dynamic.Resource(gvr).Namespace("team-b").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Errorf("%s: %v", when, err)
				continue
			}
			if uids[gvr] == "" {
				uids[gvr] = object.GetUID()
			}
			if object.GetUID() != uids[gvr] {
				t.Errorf("%s: %s was made anew", when, gvr.Resource)
			}
			if hard, found, _ := unstructured.NestedString(object.Object, "spec", "hard", "pods"); found && hard != pods {
				t.Errorf("%s: the quota is %s Pods, want %s", when, hard, pods)
			}
		}
	}
	e.install(t, with(furnished("50")))
	check("installed", "50")
	e.upgrade(t, with())
	check("the tenant taken out", "50")
	e.upgrade(t, with(furnished("40")))
	check("the tenant taken in again", "40")
	if err := e.UninstallChart(t.Context(), with()); err != nil {
		t.Fatal(err)
	}
	check("uninstalled", "40")
	e.install(t, with(furnished("30")))
	check("installed again", "30")

	t.Run("what is turned off stays, and the notes name the command", func(t *testing.T) {
		e.upgrade(t, with(tenant("team-b", true, "team-b")))
		check("turned off", "30")
		notes := e.latest(t, with()).Info.Notes
		deletes := 0
		for _, line := range commands.Of(notes) {
			if !strings.HasPrefix(line, "kubectl delete ") {
				continue
			}
			deletes++
			if _, stderr, err := e.Shell(t.Context(), "", t.TempDir(), line); err != nil || stderr != "" {
				t.Errorf("%s: %v %s", line, err, stderr)
			}
		}
		if deletes != len(protection) {
			t.Errorf("%d commands in the notes, want %d:\n%s", deletes, len(protection), notes)
		}
		for gvr, name := range protection {
			if e.exists(t, gvr, "team-b", name) {
				t.Errorf("%s is still there", gvr.Resource)
			}
		}
		e.upgrade(t, with(tenant("team-b", true, "team-b")))
		if notes := e.latest(t, with()).Info.Notes; strings.Contains(notes, "and stays") {
			t.Errorf("the notes speak of what is gone:\n%s", notes)
		}
	})
}
