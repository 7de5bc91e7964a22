package bar

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/tenancy"
	"github.com/controlee/controlee/test/try"
)

// widgets is a CRD whose first version is served or not.
func widgets(firstServed bool) string {
	served := "false"
	if firstServed {
		served = "true"
	}
	anything := "schema: {openAPIV3Schema: {type: object}}"
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.test.controlee.dev}\n" +
		"spec: {group: test.controlee.dev, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [" +
		"{name: v1alpha1, served: " + served + ", storage: false, " + anything + "}, {name: v1, served: true, storage: true, " + anything + "}]}\n"
}

// An object is gone when the API server says so of the object. That a version of its kind is gone
// says nothing of it; that its kind is gone in all versions says that it is gone as well.
func TestVersionNoLongerServed(t *testing.T) {
	install := func(crd string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "crd.yaml")
		if err := os.WriteFile(path, []byte(crd), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := control.InstallCRDs(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	install(widgets(true))
	namespace := newNamespace(t, "versions")
	widget := &unstructured.Unstructured{}
	widget.SetGroupVersionKind(schema.GroupVersionKind{Group: "test.controlee.dev", Version: "v1alpha1", Kind: "Widget"})
	widget.SetNamespace(namespace)
	widget.SetName("web")
	try.Until(t, refusedAtLeast, func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(server.Create(ctx, widget))
	})
	target := &v1alpha1.BarTarget{APIGroup: "test.controlee.dev", Version: "v1alpha1", Kind: "Widget", Namespace: namespace, Name: "web"}
	missing := &v1alpha1.BarTarget{APIGroup: target.APIGroup, Version: "v1", Kind: "Widget", Namespace: namespace, Name: "none"}
	w := newWork(newReconciler(server), &v1alpha1.Bar{})
	exists := func(target *v1alpha1.BarTarget) bool {
		t.Helper()
		live, err := w.readTarget(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		return live != nil
	}
	if !exists(target) || exists(missing) {
		t.Fatal("with both versions served")
	}
	asking, err := discovery.NewDiscoveryClientForConfig(control.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	kind := schema.GroupKind{Group: target.APIGroup, Kind: target.Kind}
	w.Late = tenancy.NewLateKinds(asking, []tenancy.LateKind{{GroupKind: kind, Versions: []string{"v1alpha1", "v1"}}})
	if err := w.Late.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	everywhere, wanted := &tenancy.Namespace{Reader: server}, []provider.Object{{Unstructured: widget.DeepCopy()}}
	w.bar.Spec.SourceRef.Namespace = namespace
	install(widgets(false))
	waitUntil(t, func() bool {
		versions, err := w.Late.Served(t.Context(), kind)
		return err == nil && len(versions) == 1
	})
	if !exists(target) {
		t.Error("an object whose recorded version is no longer served counts as gone")
	}
	if exists(missing) {
		t.Error("an object that never was")
	}
	if _, err := w.read(t.Context(), everywhere, wanted); err == nil {
		t.Error("an object whose version is no longer served counts as one that is yet to be made")
	}
	if parts, err := w.read(t.Context(), everywhere, wanted); err != nil || parts[0].live.GetUID() != widget.GetUID() {
		t.Errorf("it is not found in the version that is served: %v", err)
	}
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("widgets.test.controlee.dev")
	if err := server.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return !exists(target) })
}
