package chart_test

import (
	"encoding/json"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/controlee/controlee/pkg/api/v1alpha1"
)

// A write that changes nothing passes the locks, whoever sends it: a migration of the storage
// version and the rotation of an encryption key write every object as it is. The smallest change is
// refused, and so is a write that only makes its author own a field.
func TestLocksAdmitWritesOfNoChange(t *testing.T) {
	e := start(t)
	_, operator := e.locked(t)
	routes := e.serveRoutes(t)
	web, err := e.kube.AppsV1().Deployments("team-a").Create(t.Context(), deployment("web", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wanted := ofBar("web", web)
	wanted.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
	serviceOfBar := &unstructured.Unstructured{Object: unstructuredOf(t, wanted)}
	route := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
		"metadata": map[string]any{"name": "web", "labels": map[string]any{v1alpha1.BarLabel: "web"}},
		"spec":     map[string]any{"hostnames": []any{"web.example.com"}},
	}}
	objects := []struct {
		gvr       schema.GroupVersionResource
		namespace string
		object    *unstructured.Unstructured
		policy    string
		status    string
		smallest  map[string]string
	}{
		{barGVR, systemNamespace, bar("web", "web"), barsLocked, `{"status": {"phase": "Pending"}}`, map[string]string{
			"the spec":      `{"spec": {"selector": {"app": "another"}}}`,
			"a default":     `{"spec": {"release": true}}`,
			"a finalizer":   `{"metadata": {"finalizers": ["example.com/mine"]}}`,
			"an owner":      `{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}]}}`,
			"a new label":   `{"metadata": {"labels": {"note": ""}}}`,
			"an annotation": `{"metadata": {"annotations": {"note": ""}}}`,
		}},
		{serviceGVR, "team-a", serviceOfBar, barObjectsLocked, `{"status": {"conditions": []}}`, map[string]string{
			"the spec":        `{"spec": {"sessionAffinity": "ClientIP"}}`,
			"our annotation":  `{"metadata": {"annotations": {"controlee.dev/note": ""}}}`,
			"our label taken": `{"metadata": {"labels": {"controlee.dev/bar": null}}}`,
		}},
		{routes, "team-a", route, barObjectsLocked, `{"status": {"parents": []}}`, map[string]string{
			"the spec":        `{"spec": {"hostnames": ["web.example.com", "bank.example.com"]}}`,
			"our label taken": `{"metadata": {"labels": {"controlee.dev/bar": null}}}`,
		}},
	}
	e.grant(t, "", account(metav1.NamespaceSystem, "storage-version-migrator"))
	e.grant(t, "team-a", person("ada"))
	e.grant(t, systemNamespace, person("ada"))
	people := map[string]client{
		"a system:masters admin":                    {e.kube, e.dynamic},
		"the storage version migrator":              newClient(t, e.serviceAccount(t, metav1.NamespaceSystem, "storage-version-migrator")),
		"somebody with all rights in the namespace": newClient(t, e.user(t, "ada")),
	}
	for _, o := range objects {
		own := operator.dynamic.Resource(o.gvr).Namespace(o.namespace)
		// As the operator writes: the first apply makes the object.
		_, err := own.Apply(t.Context(), o.object.GetName(), o.object, metav1.ApplyOptions{FieldManager: "controlee-bar", Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := own.Patch(t.Context(), o.object.GetName(), types.MergePatchType, []byte(o.status), metav1.PatchOptions{FieldManager: "controlee-bar"}, "status"); err != nil {
			t.Fatal(err)
		}
		for who, c := range people {
			t.Run(o.object.GetKind()+" by "+who, func(t *testing.T) {
				testNoChange(t, c, o.gvr, o.namespace, "web")
				for what, patch := range o.smallest {
					_, err := c.dynamic.Resource(o.gvr).Namespace(o.namespace).Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
					refused(t, what, err, o.policy)
				}
			})
		}
		t.Run(o.object.GetKind()+" by kubectl replace", func(t *testing.T) {
			// The documented rotation of an encryption key, for one kind.
			line := "kubectl get " + o.gvr.GroupResource().String() + " --namespace " + o.namespace + " web --output json | kubectl replace --filename -"
			_, stderr, err := e.Shell(t.Context(), "", t.TempDir(), line)
			admitted(t, line, err)
			if stderr != "" {
				t.Errorf("%s: %s", line, stderr)
			}
		})
	}
	// Validation rules of the CRDs that compare an object with its former self.
	if _, err := operator.dynamic.Resource(fooGVR).Namespace("team-a").Create(t.Context(), foo("web", "internal"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, o := range []struct {
		gvr             schema.GroupVersionResource
		namespace, name string
	}{
		{fenceGVR, systemNamespace, "controlee"}, {tenantGVR, systemNamespace, "team-a"}, {barClassGVR, "", "internal"}, {fooGVR, "team-a", "web"},
	} {
		t.Run(o.gvr.Resource, func(t *testing.T) {
			testNoChange(t, people["the storage version migrator"], o.gvr, o.namespace, o.name)
		})
	}
	t.Run("a controller manager without accounts of its controllers", func(t *testing.T) {
		manager := e.impersonated(t, "system:kube-controller-manager", person("system:kube-controller-manager"))
		testNoChange(t, manager, barGVR, systemNamespace, "web")
	})
	t.Run("no field of a Bar is gained", func(t *testing.T) { testNoFieldsOfBars(t, e) })
}

// testNoChange writes an object as it is, in each manner that there is.
func testNoChange(t *testing.T, c client, gvr schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	objects := c.dynamic.Resource(gvr).Namespace(namespace)
	get := func() *unstructured.Unstructured {
		t.Helper()
		live, err := objects.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return live
	}
	live := get()
	migrator := metav1.PatchOptions{FieldManager: "storage-version-migrator-controller"}
	_, err := objects.Update(t.Context(), live, metav1.UpdateOptions{})
	admitted(t, "update", err)
	_, err = objects.UpdateStatus(t.Context(), live, metav1.UpdateOptions{})
	admitted(t, "update of the status", err)
	hidden := live.DeepCopy()
	hidden.SetManagedFields(nil)
	_, err = objects.Update(t.Context(), hidden, metav1.UpdateOptions{FieldManager: "another"})
	admitted(t, "update without the managed fields, as kubectl shows the object", err)
	// As Kubernetes' own controller of StorageVersionMigrations does.
	patch, err := json.Marshal(map[string]any{
		"apiVersion": live.GetAPIVersion(), "kind": live.GetKind(),
		"metadata": map[string]any{"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion()},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = objects.Patch(t.Context(), name, types.MergePatchType, patch, migrator)
	admitted(t, "patch", err)
	_, err = objects.Patch(t.Context(), name, types.MergePatchType, []byte(`{}`), migrator, "status")
	admitted(t, "patch of the status", err)
	if after := get(); after.GetResourceVersion() != live.GetResourceVersion() {
		t.Errorf("the writes changed the object:\n%v\n%v", live.Object, after.Object)
	}
}

// Whoever owns a field of a Bar too keeps it when the operator gives the field up.
func testNoFieldsOfBars(t *testing.T, e *env) {
	bars := e.dynamic.Resource(barGVR).Namespace(systemNamespace)
	live, err := bars.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	apply := map[string]any{"apiVersion": live.GetAPIVersion(), "kind": "Bar", "metadata": map[string]any{"name": "web"}}
	withField := maps.Clone(apply)
	withField["spec"] = map[string]any{"selector": map[string]any{"app": "web"}}
	force := metav1.PatchOptions{FieldManager: "me", Force: ptr.To(true)}
	_, err = bars.Patch(t.Context(), "web", types.ApplyPatchType, merge(t, withField), force)
	refused(t, "apply of the value that it has", err, barsLocked)
	withField["status"] = map[string]any{"phase": "Pending"}
	delete(withField, "spec")
	_, err = bars.Patch(t.Context(), "web", types.ApplyPatchType, merge(t, withField), force, "status")
	refused(t, "apply of the status that it has", err, barsLocked)
	for what, patch := range map[string]string{
		"managers forgotten": `[{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]`,
		"a manager taken":    `[{"op": "replace", "path": "/metadata/managedFields/0/manager", "value": "me"}]`,
		"one taken off":      `[{"op": "remove", "path": "/metadata/managedFields/0"}]`,
	} {
		_, err = bars.Patch(t.Context(), "web", types.JSONPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "me"})
		refused(t, what, err, barsLocked)
	}
	_, err = bars.Patch(t.Context(), "web", types.ApplyPatchType, merge(t, apply), force)
	admitted(t, "apply of nothing", err)
}

func unstructuredOf(t *testing.T, object any) map[string]any {
	t.Helper()
	content, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(content, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}
