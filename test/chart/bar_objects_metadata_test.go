package chart_test

import (
	"context"
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/controlee/controlee/pkg/api/v1alpha1"
)

// ourMetadata are changes of what the operator alone writes into the metadata of an object that a Bar made.
var ourMetadata = map[string]string{
	"a change of our label": `{"metadata": {"labels": {"controlee.dev/bar": "another"}}}`,
	"our label taken off":   `{"metadata": {"labels": {"controlee.dev/bar": null}}}`,
	"another of our labels": `{"metadata": {"labels": {"controlee.dev/more": "x"}}}`,
	"the manager's label":   `{"metadata": {"labels": {"app.kubernetes.io/managed-by": "me"}}}`,
	"our annotation":        `{"metadata": {"annotations": {"controlee.dev/note": "theirs"}}}`,
	"our annotation off":    `{"metadata": {"annotations": {"controlee.dev/note": null}}}`,
	"a new annotation":      `{"metadata": {"annotations": {"controlee.dev/bar-class": "internal"}}}`,
	"no owner":              `{"metadata": {"ownerReferences": null}}`,
	"another owner":         `{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1", "controller": true}]}}`,
}

// foreignMetadata are changes of what others write there.
var foreignMetadata = map[string]string{
	"an address":  `{"metadata": {"annotations": {"metallb.io/loadBalancerIPs": "192.0.2.7"}}}`,
	"a host name": `{"metadata": {"annotations": {"external-dns.alpha.kubernetes.io/hostname": "bank.example.com"}}}`,
	"a label":     `{"metadata": {"labels": {"team": "a"}}}`,
}

// allow gives a subject these verbs on these resources of every group in team-a, until the test ends.
func (e *env) allow(t *testing.T, subject rbacv1.Subject, resources []string, verbs ...string) {
	t.Helper()
	meta := metav1.ObjectMeta{GenerateName: "test-"}
	role, err := e.kube.RbacV1().Roles("team-a").Create(t.Context(), &rbacv1.Role{
		ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: resources, Verbs: verbs}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	binding, err := e.kube.RbacV1().RoleBindings("team-a").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.kube.RbacV1().RoleBindings("team-a").Delete(context.WithoutCancel(t.Context()), binding.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	e.authorized(t, "team-a", subject, verbs[len(verbs)-1], resources[len(resources)-1])
}

// A write of a Service's status can change its metadata as well: it is asked the same.
func testStatusIsNoWayAround(t *testing.T, c client) {
	services := c.CoreV1().Services("team-a")
	for what, patch := range ourMetadata {
		_, err := services.Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		refused(t, what+" by the status", err, barObjectsLocked, "written by Controlee alone: change Deployment web, which it was made for", "lock.breakGlassGroups")
	}
	_, err := services.Patch(t.Context(), "ordinary", types.MergePatchType,
		[]byte(`{"metadata": {"labels": {"controlee.dev/bar": "web"}}}`), metav1.PatchOptions{}, "status")
	refused(t, "label put on by the status", err, barObjectsLocked, "Leave it out")
	_, err = services.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"status": {"loadBalancer": {"ingress": null}}}`), metav1.PatchOptions{}, "status")
	admitted(t, "status alone", err)
}

// Load balancer controllers choose addresses and names by foreign annotations and labels.
func testForeignMetadata(t *testing.T, e *env, ada client) {
	patch := func(c client, fields string) error {
		_, err := c.CoreV1().Services("team-a").Patch(t.Context(), "web", types.MergePatchType, []byte(fields), metav1.PatchOptions{})
		return err
	}
	const refusal = "labels and annotations of this load balancer are for whoever may write its status (services/status)"
	for what, fields := range foreignMetadata {
		refused(t, what, patch(ada, fields), barObjectsLocked, refusal, "cluster's load balancer controllers", "ask the platform", "in the BarClass")
	}
	admitted(t, "finalizer", patch(ada, `{"metadata": {"finalizers": null}}`))

	kubeconfig := t.TempDir() + "/kubeconfig"
	e.grant(t, "", person("root"))
	if err := e.WriteKubeconfig(kubeconfig, e.user(t, "root"), "team-a"); err != nil {
		t.Fatal(err)
	}
	_, _, err := e.Kubectl(t.Context(), kubeconfig, "annotate", "service/web", "metallb.io/loadBalancerIPs=192.0.2.7")
	admitted(t, "kubectl annotate by a cluster-admin", err)
	refused(t, "annotation of others off", patch(ada, `{"metadata": {"annotations": {"metallb.io/loadBalancerIPs": null}}}`), barObjectsLocked, refusal)
	refused(t, "annotation of others changed", patch(ada, `{"metadata": {"annotations": {"metallb.io/loadBalancerIPs": "192.0.2.8"}}}`), barObjectsLocked, refusal)

	e.allow(t, account("team-a", "patches"), []string{"services", "services/status"}, "patch")
	e.allow(t, account("team-a", "elsewhere"), []string{"services"}, "patch", "update", "get")
	for what, fields := range foreignMetadata {
		admitted(t, what+" by who may patch the status", patch(newClient(t, e.serviceAccount(t, "team-a", "patches")), fields))
	}
	refused(t, "who may write Services alone", patch(newClient(t, e.serviceAccount(t, "team-a", "elsewhere")),
		`{"metadata": {"annotations": {"metallb.io/loadBalancerIPs": null}}}`), barObjectsLocked, refusal)

	kubernetes := e.impersonated(t, "system:kube-controller-manager", person("system:kube-controller-manager"))
	admitted(t, "Kubernetes' controllers", patch(kubernetes, `{"metadata": {"labels": {"service.kubernetes.io/headless": ""}}}`))
}

// Who owns a field as well keeps it when the operator gives it up.
func testNoSharedFields(t *testing.T, ada, operator client, web *appsv1.Deployment) {
	wanted := ofBar("owned", web)
	wanted.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
	wanted.Annotations = map[string]string{"lb.example.com/public": "true"}
	content, err := json.Marshal(wanted)
	if err != nil {
		t.Fatal(err)
	}
	force := ptr.To(true)
	own, others := operator.CoreV1().Services("team-a"), ada.CoreV1().Services("team-a")
	_, err = own.Patch(t.Context(), "owned", types.ApplyPatchType, content, metav1.PatchOptions{FieldManager: "controlee-bar", Force: force})
	admitted(t, "the operator's apply", err)

	const refusal = "who owns fields of this load balancer is for Controlee to say"
	for what, fields := range map[string]string{
		"the port that it has":       `"metadata": {"name": "owned"}, "spec": {"ports": [{"port": 80}]}`,
		"the annotation that it has": `"metadata": {"name": "owned", "annotations": {"lb.example.com/public": "true"}}`,
		"the label that it has":      `"metadata": {"name": "owned", "labels": {"controlee.dev/bar": "owned"}}`,
		"a finalizer and the port":   `"metadata": {"name": "owned", "finalizers": ["example.com/mine"]}, "spec": {"ports": [{"port": 80}]}`,
	} {
		apply := `{"apiVersion": "v1", "kind": "Service", ` + fields + `}`
		_, err := others.Patch(t.Context(), "owned", types.ApplyPatchType, []byte(apply), metav1.PatchOptions{FieldManager: "me", Force: force})
		refused(t, "apply of "+what, err, barObjectsLocked, refusal, "change Deployment web")
	}
	for what, patch := range map[string]string{
		"managers forgotten": `[{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]`,
		"a manager added": `[{"op": "add", "path": "/metadata/managedFields/-", "value": {"manager": "me", "operation": "Apply", "apiVersion": "v1",
			"time": "2030-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:selector": {}}}}}]`,
	} {
		_, err := others.Patch(t.Context(), "owned", types.JSONPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "me"})
		refused(t, what, err, barObjectsLocked, refusal)
	}

	finalizer := `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "owned", "finalizers": ["example.com/mine"]}}`
	_, err = others.Patch(t.Context(), "owned", types.ApplyPatchType, []byte(finalizer), metav1.PatchOptions{FieldManager: "me", Force: force})
	admitted(t, "apply of a finalizer", err)
	_, err = others.Patch(t.Context(), "owned", types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{FieldManager: "another"})
	admitted(t, "finalizers off", err)
	admitted(t, "the operator's delete", own.Delete(t.Context(), "owned", metav1.DeleteOptions{}))
}

// What the operator applies makes an object or changes its own; it never becomes a change of somebody else's, who was faster.
func testNoAdoption(t *testing.T, ada, operator client, web *appsv1.Deployment) {
	// With force, as the operator changes its own: no field of the other's is in the way.
	force := metav1.PatchOptions{FieldManager: "controlee-bar", Force: ptr.To(true)}
	own := func(name string, port int32) error {
		wanted := ofBar(name, web)
		wanted.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
		wanted.Spec.Ports[0].Port = port
		content, err := json.Marshal(wanted)
		if err != nil {
			t.Fatal(err)
		}
		_, err = operator.CoreV1().Services("team-a").Patch(t.Context(), name, types.ApplyPatchType, content, force)
		return err
	}
	faster := service("raced", map[string]string{v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue}, nil)
	made, err := ada.CoreV1().Services("team-a").Create(t.Context(), faster, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, "apply where another was faster", own("raced", 80), barObjectsLocked, "Service raced exists already and was not made for Bar raced")
	current, err := ada.CoreV1().Services("team-a").Get(t.Context(), "raced", metav1.GetOptions{})
	if err != nil || current.ResourceVersion != made.ResourceVersion {
		t.Errorf("the foreign Service was changed, or is gone: %v", err)
	}
	if err := ada.CoreV1().Services("team-a").Delete(t.Context(), "raced", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	admitted(t, "apply where there is none", own("raced", 80))
	admitted(t, "apply to its own", own("raced", 81))
	services := operator.CoreV1().Services("team-a")
	_, err = services.Patch(t.Context(), "raced", types.MergePatchType, []byte(`{"metadata": {"labels": {"controlee.dev/bar": "another"}}}`), metav1.PatchOptions{})
	refused(t, "the operator changes which Bar it is", err, barObjectsLocked, "was not made for Bar another")
	_, err = services.Patch(t.Context(), "raced", types.MergePatchType, []byte(`{"metadata": {"annotations": {"controlee.dev/note": "other", "example.com/x": "y"}}}`), metav1.PatchOptions{})
	admitted(t, "the operator's annotations", err)
	admitted(t, "the operator's delete", services.Delete(t.Context(), "raced", metav1.DeleteOptions{}))
}
