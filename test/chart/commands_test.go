package chart_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/commands"
)

// Whatever command a message names works as it is printed: it does what is meant and prints neither
// a warning nor an error.
func TestCommandsInMessages(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace, "team-a")
	t.Cleanup(func() { e.deleteNamespaces(t, "nowhere") })
	values := tenants(tenant("team-a", false, "team-a"))
	values["replicaCount"] = 0
	chart := cluster.Chart{Release: "controlee", Namespace: systemNamespace, Values: values}
	dir := valuesFile(t, values)
	// ask runs the commands of a message as somebody, and gives what they print.
	ask := func(t *testing.T, kubeconfig, message string, want int) (stdout string) {
		t.Helper()
		lines := commands.Of(message)
		if len(lines) != want {
			t.Fatalf("found the commands %q, want %d of them, in:\n%s", lines, want, message)
		}
		path, err := filepath.Abs(chartPath)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			out, stderr, err := e.Shell(t.Context(), kubeconfig, dir, strings.NewReplacer("CHART", path, "YOUR-VALUES.yaml", "values.yaml").Replace(line))
			if err != nil || stderr != "" {
				t.Errorf("%s: %v %s", line, err, stderr)
			}
			stdout += out
		}
		return stdout
	}
	fails := func(t *testing.T, err error) string {
		t.Helper()
		if err == nil {
			t.Fatal("nothing was refused")
		}
		return err.Error()
	}

	t.Run("a Lease that was left over", func(t *testing.T) {
		left := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "controlee"}}
		if _, err := e.kube.CoordinationV1().Leases(systemNamespace).Create(t.Context(), left, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		ask(t, "", fails(t, e.InstallChart(t.Context(), chart)), 1)
	})
	t.Run("a namespace that does not exist", func(t *testing.T) {
		with := chart
		with.Values = tenants(tenant("team-a", false, "team-a"), tenant("team-c", false, "nowhere"))
		ask(t, "", fails(t, e.InstallChart(t.Context(), with)), 1)
	})
	e.install(t, chart)
	t.Run("the notes", func(t *testing.T) {
		notes := e.latest(t, chart).Info.Notes
		ask(t, "", notes, 4)
		crds := e.dynamic.Resource(crdGVR)
		patch := []byte(`[{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/description", "value": "An older text."}]`)
		if _, err := crds.Patch(t.Context(), "foos.controlee.dev", types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		e.upgrade(t, chart)
		ask(t, "", e.latest(t, chart).Info.Notes, 5)
		e.upgrade(t, chart)
		if notes := e.latest(t, chart).Info.Notes; strings.Contains(notes, "These CRDs in the cluster differ") {
			t.Errorf("the command changed nothing:\n%s", notes)
		}
	})
	t.Run("a BarClass that is not allowed", func(t *testing.T) {
		e.enforced(t)
		kubeconfig := t.TempDir() + "/kubeconfig"
		config := e.user(t, "alice", "team-a")
		if err := e.WriteKubeconfig(kubeconfig, config, "default"); err != nil {
			t.Fatal(err)
		}
		asks := deployment("dry", map[string]string{v1alpha1.BarClassAnnotation: "edge"})
		_, err := newClient(t, config).AppsV1().Deployments("team-a").Create(t.Context(), asks, dryRun)
		listed := func() string { return ask(t, kubeconfig, fails(t, err), 1) }
		if out := listed(); strings.Contains(out, "barclasses") {
			t.Errorf("a team without a class is shown one:\n%s", out)
		}
		allowed := tenant("team-a", false, "team-a")
		allowed["allowedBarClasses"] = []any{"internal"}
		with := chart
		with.Values = tenants(allowed)
		e.upgrade(t, with)
		eventually(t, "the command shows the class", func() bool {
			for line := range strings.Lines(listed()) {
				if strings.HasPrefix(line, "barclasses.controlee.dev") && strings.Contains(line, "[internal]") && strings.Contains(line, "[use]") {
					return true
				}
			}
			return false
		})
	})
	t.Run("a second release", func(t *testing.T) {
		second := cluster.Chart{Release: "another", Namespace: systemNamespace}
		ask(t, "", fails(t, e.InstallChart(context.WithoutCancel(t.Context()), second)), 2)
	})
}
