package chart_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/controlee/controlee/test/cluster"
)

// beforeFence is the chart as it was before there was a fence: neither Fence nor policies.
func beforeFence(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "controlee")
	if err := os.CopyFS(path, os.DirFS(chartPath)); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"fence.yaml", "policies"} {
		if err := os.RemoveAll(filepath.Join(path, "templates", part)); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// rollback does what "helm rollback" does.
func (e *env) rollback(t *testing.T, chart cluster.Chart, revision int) {
	t.Helper()
	kubeconfig, err := e.AdminKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	helm := new(action.Configuration)
	if err := helm.Init(kube.GetConfig(kubeconfig, "", chart.Namespace), chart.Namespace, "secrets", func(string, ...any) {}); err != nil {
		t.Fatal(err)
	}
	rollback := action.NewRollback(helm)
	rollback.Version = revision
	if err := rollback.Run(chart.Release); err != nil {
		t.Fatal(err)
	}
}

// What Helm does to a release never changes who may write; what was away is claimed anew.
func TestFenceThroughHelm(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace, "team-a")
	chart, older := fencedChart(), fencedChart()
	older.Path = beforeFence(t)

	e.install(t, older)
	a, b := e.replicas(t)
	expectWriters(t, []*replica{a, b})

	t.Run("upgrade from a release without a fence", func(t *testing.T) {
		e.upgrade(t, chart)
		expectWriters(t, nil, a, b)
		e.claim(t, a)
		expectWriters(t, []*replica{a}, b)
	})
	t.Run("upgrades leave the Fence alone", func(t *testing.T) {
		before := e.fence(t)
		e.upgrade(t, chart)
		changed := chart
		changed.Values = with(chart.Values, map[string]any{"replicaCount": 3})
		e.upgrade(t, changed)
		if after := e.fence(t); after.GetResourceVersion() != before.GetResourceVersion() {
			t.Errorf("an upgrade wrote the Fence: %v", after.Object)
		}
		expectWriters(t, []*replica{a}, b)
	})
	t.Run("a rollback leaves it alone", func(t *testing.T) {
		before := e.fence(t)
		e.rollback(t, chart, e.latest(t, chart).Version-1)
		if after := e.fence(t); after.GetResourceVersion() != before.GetResourceVersion() {
			t.Errorf("a rollback wrote the Fence: %v", after.Object)
		}
		e.claim(t, b)
		expectWriters(t, []*replica{b}, a)
	})
	t.Run("a rollback to a release without a fence, and back", func(t *testing.T) {
		e.rollback(t, chart, 1)
		if e.exists(t, fenceGVR, systemNamespace, "controlee") {
			t.Error("the Fence is still there")
		}
		expectWriters(t, []*replica{a, b})
		e.upgrade(t, chart)
		expectWriters(t, nil, a, b)
		e.claim(t, a)
		expectWriters(t, []*replica{a}, b)
	})
	t.Run("a forced upgrade is refused instead of emptying it", func(t *testing.T) { testForced(t, e, a, b) })
	t.Run("uninstalled and installed again", func(t *testing.T) {
		if err := e.UninstallChart(t.Context(), chart); err != nil {
			t.Fatal(err)
		}
		if e.exists(t, fenceGVR, systemNamespace, "controlee") {
			t.Error("the Fence is still there")
		}
		e.install(t, chart)
		a, b := e.replica(t, "controlee-c"), e.replica(t, "controlee-d")
		expectWriters(t, nil, a, b)
		e.claim(t, b)
		expectWriters(t, []*replica{b}, a)
	})
	t.Run("a Fence of an older release", func(t *testing.T) { testLeftover(t, e, chart) })
}

// "helm upgrade --force" puts the manifest in place of what is there.
func testForced(t *testing.T, e *env, a, b *replica) {
	live := e.fence(t)
	manifest := live.DeepCopy()
	delete(manifest.Object, "spec")
	delete(manifest.Object, "status")
	_, err := e.fences().Update(t.Context(), manifest, metav1.UpdateOptions{})
	if err == nil || !strings.Contains(err.Error(), "epoch never goes back") {
		t.Errorf("got %v, want a refusal: epoch never goes back", err)
	}
	if after := e.fence(t); !reflect.DeepEqual(nested(t, after, "spec"), nested(t, live, "spec")) {
		t.Errorf("the Fence was written: %v", after.Object)
	}
	expectWriters(t, []*replica{a}, b)
}

func testLeftover(t *testing.T, e *env, chart cluster.Chart) {
	leftover := func(annotations map[string]string) *unstructured.Unstructured {
		left := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "controlee.dev/v1alpha1", "kind": "Fence",
			"metadata": map[string]any{"name": "controlee", "labels": map[string]any{"app.kubernetes.io/managed-by": "Helm"}},
			"spec":     map[string]any{"holder": map[string]any{"podName": "gone", "podUID": "1"}, "epoch": int64(7)},
		}}
		left.SetAnnotations(annotations)
		return left
	}
	if _, err := e.fences().Create(t.Context(), leftover(nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err := e.InstallChart(t.Context(), chart)
	if err == nil || !strings.Contains(err.Error(), `Fence "controlee" in namespace "controlee-system" exists and cannot be imported`) {
		t.Errorf("got %v, want a refusal to take over a Fence that is no release's", err)
	}
	if err := e.fences().Delete(t.Context(), "controlee", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	own := map[string]string{"meta.helm.sh/release-name": chart.Release, "meta.helm.sh/release-namespace": chart.Namespace}
	if _, err := e.fences().Create(t.Context(), leftover(own), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	e.install(t, chart)
	want := map[string]any{"holder": map[string]any{"podName": "gone", "podUID": "1"}, "epoch": int64(7)}
	if got := nested(t, e.fence(t), "spec"); !reflect.DeepEqual(got, want) {
		t.Errorf("the install made the Fence %v, want %v", got, want)
	}
	a, b := e.replica(t, "controlee-e"), e.replica(t, "controlee-f")
	expectWriters(t, nil, a, b)
	e.claim(t, a)
	expectWriters(t, []*replica{a}, b)
}
