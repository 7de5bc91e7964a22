package chart_test

import (
	"context"
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/controlee/controlee/pkg/api/v1alpha1"
)

// ofBar is a Service that a Bar made for a Deployment.
func ofBar(name string, owner *appsv1.Deployment) *corev1.Service {
	s := service(name, map[string]string{v1alpha1.BarLabel: name, v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue}, map[string]string{"controlee.dev/note": "ours"})
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true)}}
	return s
}

// What a Bar made can be changed, taken over and deleted by the operator alone; the rest of the cluster works with it as with any other.
func TestBarObjectsAreLocked(t *testing.T) {
	e := start(t)
	_, operator := e.locked(t)
	web, err := e.kube.AppsV1().Deployments("team-a").Create(t.Context(), deployment("web", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	live, err := operator.CoreV1().Services("team-a").Create(t.Context(), ofBar("web", web), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	people := map[string]client{
		"a system:masters admin": {e.kube, e.dynamic},
		"a cluster-admin":        e.clusterAdmin(t, "root"),
		"a tenant's admin":       newClient(t, e.user(t, "ada", "team-a-leads")),
	}
	for who, c := range people {
		t.Run(who, func(t *testing.T) { testLockedService(t, c) })
	}
	ada := people["a tenant's admin"]
	if _, err := ada.CoreV1().Services("team-a").Create(t.Context(), service("ordinary", nil, nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// An admission plugin asks who changes owners for the right to delete as well.
	e.allow(t, person("stan"), []string{"*/status"}, "patch", "delete")
	people["a tenant's admin"] = newClient(t, e.user(t, "stan", "team-a-leads"))
	for who, c := range people {
		t.Run("by the status, "+who, func(t *testing.T) { testStatusIsNoWayAround(t, c) })
	}
	t.Run("metadata of others", func(t *testing.T) { testForeignMetadata(t, e, ada) })
	t.Run("no shared fields", func(t *testing.T) { testNoSharedFields(t, ada, operator, web) })
	t.Run("no adoption", func(t *testing.T) { testNoAdoption(t, ada, operator, web) })
	t.Run("forged objects", func(t *testing.T) { testForged(t, ada, web) })
	t.Run("a cloud's controller", func(t *testing.T) { testCloudController(t, e, live) })
	t.Run("a route", func(t *testing.T) { testLockedRoute(t, e, operator, ada) })
	t.Run("who deletes", func(t *testing.T) { testDeletions(t, e, operator, ada) })
}

func testLockedService(t *testing.T, c client) {
	services := c.CoreV1().Services("team-a")
	changes := map[string]string{
		"type":               `{"spec": {"type": "NodePort"}}`,
		"selector":           `{"spec": {"selector": {"app": "another"}}}`,
		"ports":              `{"spec": {"ports": [{"port": 81}]}}`,
		"external addresses": `{"spec": {"externalIPs": ["192.0.2.1"]}}`,
	}
	maps.Copy(changes, ourMetadata)
	for what, patch := range changes {
		_, err := services.Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		refused(t, what, err, barObjectsLocked, "written by Controlee alone: change Deployment web, which it was made for", "lock.breakGlassGroups")
	}
	live, err := c.dynamic.Resource(serviceGVR).Namespace("team-a").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range writesOf(t, c, serviceGVR, live, map[string]any{"spec": map[string]any{"type": "NodePort"}}, false) {
		refused(t, what, err, barObjectsLocked, "by Controlee alone", "Deployment web", "lock.breakGlassGroups")
	}
}

func testForged(t *testing.T, ada client, web *appsv1.Deployment) {
	services := ada.CoreV1().Services("team-a")
	_, err := services.Create(t.Context(), ofBar("forged", web), metav1.CreateOptions{})
	refused(t, "create with all that a Bar's Service has", err, barObjectsLocked, "the label controlee.dev/bar is for what Controlee makes itself. Leave it out.")
	_, err = services.Create(t.Context(), service("forged", map[string]string{v1alpha1.BarLabel: ""}, nil), metav1.CreateOptions{})
	refused(t, "create with an empty label", err, barObjectsLocked)

	// Of the name that a Bar would use, without the label: an ordinary Service, which the operator leaves alone.
	_, err = services.Patch(t.Context(), "ordinary", types.MergePatchType, []byte(`{"metadata": {"labels": {"controlee.dev/bar": "web"}}}`), metav1.PatchOptions{})
	refused(t, "label put on later", err, barObjectsLocked, "Leave it out")
	_, err = services.Patch(t.Context(), "ordinary", types.MergePatchType, []byte(`{"spec": {"type": "NodePort"}}`), metav1.PatchOptions{})
	admitted(t, "an ordinary Service", err)
	admitted(t, "delete of an ordinary Service", services.Delete(t.Context(), "ordinary", metav1.DeleteOptions{}))
}

// What controllers of load balancers do with a Service that is not theirs: finalizer, annotation, label, status.
func testCloudController(t *testing.T, e *env, live *corev1.Service) {
	cloud := account(metav1.NamespaceSystem, "cloud")
	e.allow(t, cloud, []string{"services"}, "get", "patch", "update")
	e.allow(t, cloud, []string{"services/status"}, "update")
	services := newClient(t, e.serviceAccount(t, metav1.NamespaceSystem, "cloud")).CoreV1().Services("team-a")
	for _, patch := range []string{
		`{"metadata": {"finalizers": ["service.kubernetes.io/load-balancer-cleanup"]}}`,
		`{"metadata": {"annotations": {"metallb.io/ip-allocated-from-pool": "public"}}}`,
		`{"metadata": {"labels": {"implementation": "cloud"}}}`,
		`{"metadata": {"finalizers": null}}`,
	} {
		_, err := services.Patch(t.Context(), live.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		admitted(t, patch, err)
	}
	current, err := services.Get(t.Context(), live.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	current.Annotations["example.com/seen"] = "yes"
	current, err = services.Update(t.Context(), current, metav1.UpdateOptions{})
	admitted(t, "update of the whole object", err)
	current.Status.Conditions = []metav1.Condition{{Type: "example.com/Ready", Status: "True", Reason: "Fine", LastTransitionTime: metav1.Now()}}
	_, err = services.UpdateStatus(t.Context(), current, metav1.UpdateOptions{})
	admitted(t, "status", err)
}

func testLockedRoute(t *testing.T, e *env, operator, ada client) {
	routes := e.serveRoutes(t)
	route := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
		"metadata": map[string]any{"name": "web", "labels": map[string]any{v1alpha1.BarLabel: "web"}},
		"spec":     map[string]any{"hostnames": []any{"web.example.com"}},
	}}
	e.grant(t, "team-a", person("ada"))
	_, err := ada.dynamic.Resource(routes).Namespace("team-a").Create(t.Context(), route, metav1.CreateOptions{})
	refused(t, "create", err, barObjectsLocked, "Leave it out")
	if _, err := operator.dynamic.Resource(routes).Namespace("team-a").Create(t.Context(), route, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patches := ada.dynamic.Resource(routes).Namespace("team-a")
	_, err = patches.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec": {"hostnames": ["bank.example.com"]}}`), metav1.PatchOptions{})
	refused(t, "host name", err, barObjectsLocked, "change the object that it was made for")
	_, err = patches.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"status": {"parents": []}}`), metav1.PatchOptions{}, "status")
	admitted(t, "status", err)
	_, err = patches.Patch(t.Context(), "web", types.MergePatchType, []byte(foreignMetadata["a host name"]), metav1.PatchOptions{})
	admitted(t, "an annotation by who may write the status", err)
	e.allow(t, person("alice"), []string{"httproutes"}, "patch")
	_, err = newClient(t, e.user(t, "alice")).dynamic.Resource(routes).Namespace("team-a").Patch(t.Context(), "web", types.MergePatchType,
		[]byte(foreignMetadata["a label"]), metav1.PatchOptions{})
	refused(t, "a label by who may not", err, barObjectsLocked, "httproutes/status")
	// It has no owner.
	admitted(t, "delete", patches.Delete(t.Context(), "web", metav1.DeleteOptions{}))
}

// serveRoutes installs a CRD of the Gateway API's name, with as much of it as matters here.
func (e *env) serveRoutes(t *testing.T) schema.GroupVersionResource {
	t.Helper()
	free := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "httproutes.gateway.networking.k8s.io", Annotations: map[string]string{
			"api-approved.kubernetes.io": "unapproved, a test's",
		}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "gateway.networking.k8s.io", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "httproutes", Singular: "httproute", Kind: "HTTPRoute", ListKind: "HTTPRouteList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": free, "status": free},
				}},
			}},
		},
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		t.Fatal(err)
	}
	crds := e.dynamic.Resource(crdGVR)
	if _, err := crds.Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := crds.Delete(context.WithoutCancel(t.Context()), crd.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	routes := schema.GroupVersionResource{Group: crd.Spec.Group, Version: "v1", Resource: crd.Spec.Names.Plural}
	eventually(t, "routes are served", func() bool {
		_, err := e.dynamic.Resource(routes).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	return routes
}

// collectorIsUpToDate waits until the garbage collector has seen every Service there is: it has when it has deleted a newer one.
func (e *env) collectorIsUpToDate(t *testing.T) {
	t.Helper()
	newest := service("newest", nil, nil)
	newest.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "nowhere", UID: "1"}}
	if _, err := e.kube.CoreV1().Services("team-a").Create(t.Context(), newest, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the garbage collector has seen all Services", func() bool { return !e.exists(t, serviceGVR, "team-a", "newest") })
}

func testDeletions(t *testing.T, e *env, operator, ada client) {
	services := operator.CoreV1().Services("team-a")
	// made is a Service of a Bar, made for a new Deployment.
	made := func(name string) {
		t.Helper()
		owner, err := e.kube.AppsV1().Deployments("team-a").Create(t.Context(), deployment(name, nil), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := services.Create(t.Context(), ofBar(name, owner), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		made("collected")
		admitted(t, "delete of the owner", ada.AppsV1().Deployments("team-a").Delete(t.Context(), "collected", metav1.DeleteOptions{PropagationPolicy: &policy}))
		eventually(t, string(policy)+": the garbage collector deletes the Service of a deleted Deployment", func() bool {
			return !e.exists(t, serviceGVR, "team-a", "collected") && !e.exists(t, deploymentGVR, "team-a", "collected")
		})
	}

	// A Deployment that is deleted without what belongs to it must not wait forever for the garbage collector; what is
	// left over belongs to the team.
	made("orphaned")
	e.collectorIsUpToDate(t) // or it would take the Service for one whose owner is gone
	orphan := metav1.DeletePropagationOrphan
	admitted(t, "delete of the owner", ada.AppsV1().Deployments("team-a").Delete(t.Context(), "orphaned", metav1.DeleteOptions{PropagationPolicy: &orphan}))
	eventually(t, "the Deployment is gone", func() bool { return !e.exists(t, deploymentGVR, "team-a", "orphaned") })
	_, err := ada.CoreV1().Services("team-a").Patch(t.Context(), "orphaned", types.MergePatchType, []byte(`{"spec": {"type": "NodePort"}}`), metav1.PatchOptions{})
	refused(t, "change of what has lost its owner", err, barObjectsLocked)
	admitted(t, "delete of what has lost its owner", ada.CoreV1().Services("team-a").Delete(t.Context(), "orphaned", metav1.DeleteOptions{}))

	made("own")
	admitted(t, "the operator's delete", services.Delete(t.Context(), "own", metav1.DeleteOptions{}))

	// Where the operator has no rights the lock would be forever.
	made("left")
	refused(t, "delete in a tenant's namespace", ada.CoreV1().Services("team-a").Delete(t.Context(), "left", metav1.DeleteOptions{}), barObjectsLocked,
		"delete Deployment left or take its BarClass away from it")
	bindings := e.kube.RbacV1().RoleBindings("team-a")
	list, err := bindings.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, binding := range list.Items {
		if len(binding.Subjects) == 1 && binding.Subjects[0].Name == "controlee" {
			if err := bindings.Delete(t.Context(), binding.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "the team may delete what its former tenant left", func() bool {
		return ada.CoreV1().Services("team-a").Delete(t.Context(), "left", metav1.DeleteOptions{}) == nil
	})
	_, err = ada.CoreV1().Services("team-a").Create(t.Context(), service("forged", map[string]string{v1alpha1.BarLabel: "x"}, nil), metav1.CreateOptions{})
	refused(t, "create where no tenant is", err, barObjectsLocked, "Leave it out")
}
