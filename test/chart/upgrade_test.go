package chart_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/controlee/controlee/test/cluster"
)

// unkept is the chart as it was in 0.1.0, when nothing said that what protects a namespace is kept.
func unkept(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "controlee")
	if err := os.CopyFS(path, os.DirFS(chartPath)); err != nil {
		t.Fatal(err)
	}
	template := filepath.Join(path, "templates", "tenant-namespaces.yaml")
	content, err := os.ReadFile(template)
	if err != nil {
		t.Fatal(err)
	}
	const keep = "  annotations:\n    helm.sh/resource-policy: keep\nspec:"
	if n := strings.Count(string(content), keep); n != len(protection) {
		t.Fatalf("%d objects are kept, want %d", n, len(protection))
	}
	if err := os.WriteFile(template, []byte(strings.ReplaceAll(string(content), keep, "spec:")), 0o600); err != nil { //nolint:gosec // a temporary folder
		t.Fatal(err)
	}
	return path
}

// Helm keeps what the live object says. So the first upgrade from 0.1.0 has to be one that drops no tenant, as the admin guide says.
func TestUpgradeFromAReleaseThatDidNotKeepItsProtection(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace, "team-a")
	t.Cleanup(func() { e.deleteNamespaces(t, "team-b", "team-c") })
	entry := func(name string) map[string]any {
		furnished := tenant(name, true, name)
		furnished["createNamespaces"] = map[string]any{
			"create": true, "defaultDenyNetworkPolicy": true, "resourceQuota": map[string]any{"pods": "50"},
			"limitRange": map[string]any{"default": map[string]any{"memory": "256Mi"}},
		}
		return furnished
	}
	stays := tenant("team-a", false, "team-a")
	chart := cluster.Chart{Release: "controlee", Namespace: systemNamespace}
	chart.Path, chart.Values = unkept(t), tenants(stays, entry("team-b"), entry("team-c"))
	e.install(t, chart)

	chart.Path, chart.Values = "", tenants(stays, entry("team-b")) // team-c goes with the first upgrade
	e.upgrade(t, chart)
	chart.Values = tenants(stays) // and team-b with the second
	e.upgrade(t, chart)
	for gvr, name := range protection {
		if !e.exists(t, gvr, "team-b", name) {
			t.Errorf("%s of a tenant that went after the first upgrade is gone", gvr.Resource)
		}
		if e.exists(t, gvr, "team-c", name) {
			t.Errorf("%s of a tenant that went with the first upgrade stays: the admin guide warns of that in vain", gvr.Resource)
		}
	}
}
