package chart_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
)

// Names of the policies, as refusals show them.
const (
	barsLocked       = "controlee-bars-locked"
	barObjectsLocked = "controlee-bar-objects-locked"
	classUse         = "controlee-class-use"
)

var (
	deploymentGVR = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	serviceGVR    = schema.GroupVersionResource{Version: "v1", Resource: "services"}
)

// client is what one account may do, with and without types.
type client struct {
	kubernetes.Interface
	dynamic dynamic.Interface
}

func newClient(t *testing.T, config *rest.Config) client {
	t.Helper()
	config = unlimited(config)
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client{kube, objects}
}

// grant gives a subject everything, in a namespace or, without one, in the cluster, until the test ends: what is then
// refused to it is refused by a policy.
func (e *env) grant(t *testing.T, namespace string, subject rbacv1.Subject) {
	t.Helper()
	meta := metav1.ObjectMeta{GenerateName: "test-", Namespace: namespace}
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}
	if namespace == "" {
		binding, err := e.kube.RbacV1().ClusterRoleBindings().Create(t.Context(),
			&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: role, Subjects: []rbacv1.Subject{subject}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.kube.RbacV1().ClusterRoleBindings().Delete(context.WithoutCancel(t.Context()), binding.Name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
		e.authorized(t, namespace, subject, "*", "*")
		return
	}
	binding, err := e.kube.RbacV1().RoleBindings(namespace).Create(t.Context(),
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: role, Subjects: []rbacv1.Subject{subject}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := e.kube.RbacV1().RoleBindings(namespace).Delete(context.WithoutCancel(t.Context()), binding.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) { // its namespace was deleted
			t.Error(err)
		}
	})
	e.authorized(t, namespace, subject, "*", "*")
}

// authorized waits until the authorizer knows of a right that was just given.
func (e *env) authorized(t *testing.T, namespace string, subject rbacv1.Subject, verb, resource string) {
	t.Helper()
	user := subject.Name
	if subject.Kind == "ServiceAccount" {
		user = "system:serviceaccount:" + subject.Namespace + ":" + subject.Name
	}
	resource, subresource, _ := strings.Cut(resource, "/")
	eventually(t, user+" has its rights", func() bool {
		review, err := e.kube.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: "*", Resource: resource, Subresource: subresource,
			}},
		}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed
	})
}

func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: name}
}

func person(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}
}

// clusterAdmin is a person bound to cluster-admin, and in these groups.
func (e *env) clusterAdmin(t *testing.T, name string, groups ...string) client {
	t.Helper()
	e.grant(t, "", person(name))
	return newClient(t, e.user(t, name, groups...))
}

// enforced waits until the API server knows the policies: it compiles them a second after they were made.
func (e *env) enforced(t *testing.T) {
	t.Helper()
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	marked := service("probe", map[string]string{v1alpha1.BarLabel: "probe"}, nil)
	malformed := service("probe", nil, map[string]string{v1alpha1.BarClassAnnotation: "No Class"})
	for policy, try := range map[string]func() error{
		barsLocked: func() error {
			_, err := e.dynamic.Resource(barGVR).Namespace(systemNamespace).Create(t.Context(), bar("probe", "probe"), dry)
			return err
		},
		barObjectsLocked: func() error {
			_, err := e.kube.CoreV1().Services(metav1.NamespaceDefault).Create(t.Context(), marked, dry)
			return err
		},
		classUse: func() error {
			_, err := e.kube.CoreV1().Services(metav1.NamespaceDefault).Create(t.Context(), malformed, dry)
			return err
		},
	} {
		eventually(t, policy+" is enforced", func() bool {
			err := try()
			return err != nil && strings.Contains(err.Error(), policy)
		})
	}
}

// refused fails unless a policy refused the request, with a message that holds all of these words.
func refused(t *testing.T, what string, err error, policy string, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: was admitted", what)
		return
	}
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		t.Errorf("%s: got reason %q, want Forbidden or Invalid: %v", what, apierrors.ReasonForError(err), err)
	}
	for _, word := range append([]string{"ValidatingAdmissionPolicy '" + policy + "'"}, words...) {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: the refusal does not say %q: %v", what, word, err)
		}
	}
}

// impersonated is Kubernetes' own controller, by its user name, with all rights.
func (e *env) impersonated(t *testing.T, user string, subject rbacv1.Subject) client {
	t.Helper()
	e.grant(t, "", subject)
	config := e.AdminConfig()
	config.Impersonate.UserName = user
	return newClient(t, config)
}

func admitted(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// bar is a Bar of a Deployment in team-a.
func bar(name, source string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "controlee.dev/v1alpha1", "kind": "Bar",
		"metadata": map[string]any{"name": name, "namespace": systemNamespace},
		"spec": map[string]any{
			"sourceRef": map[string]any{"apiGroup": "apps", "kind": "Deployment", "namespace": "team-a", "name": source, "uid": "1234"},
			"tenant":    "team-a", "className": "internal",
			"ports":    []any{map[string]any{"port": int64(80), "protocol": "TCP"}},
			"selector": map[string]any{"app": source},
		},
	}}
}

func service(name string, labels, annotations map[string]string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

func deployment(name string, annotations map[string]string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "main", Image: "example.invalid/web", Ports: []corev1.ContainerPort{{ContainerPort: 8080}},
				}}},
			},
		},
	}
}

func foo(name, class string) *unstructured.Unstructured {
	spec := map[string]any{
		"image": "example.invalid/web",
		"ports": []any{map[string]any{"name": "http", "containerPort": int64(8080)}},
	}
	if class != "" {
		spec["bar"] = map[string]any{"className": class}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "controlee.dev/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// merge is a JSON merge patch.
func merge(t *testing.T, fields map[string]any) []byte {
	t.Helper()
	content, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// locked is the release that most tests of the policies need: team-a, whose people may use BarClass internal and not edge,
// and an operator that leads, with all rights there and in its own namespace.
func (e *env) locked(t *testing.T) (cluster.Chart, client) {
	t.Helper()
	e.makeNamespaces(t, systemNamespace, "team-a", "elsewhere")
	t.Cleanup(func() { e.deleteNamespaces(t, "team-b") })
	values := with(twoTenants(), map[string]any{
		"barClasses": map[string]any{"edge": map[string]any{"provider": map[string]any{
			"type": "Service", "service": map[string]any{"type": "NodePort"},
		}}},
	})
	chart := cluster.Chart{Release: "controlee", Namespace: systemNamespace, Values: values}
	e.install(t, chart)
	e.grant(t, systemNamespace, account(systemNamespace, "controlee"))
	e.grant(t, "team-a", account(systemNamespace, "controlee"))
	e.enforced(t)
	operator := e.replica(t, "controlee-0")
	e.fenceOn(t, operator)
	e.claim(t, operator)
	expectWriters(t, []*replica{operator})
	return chart, operator.client
}

// writesOf are all ways to write an object that is there: how they end, by name.
func writesOf(t *testing.T, c client, gvr schema.GroupVersionResource, live *unstructured.Unstructured, patch map[string]any, status bool) map[string]error {
	t.Helper()
	objects := c.dynamic.Resource(gvr).Namespace(live.GetNamespace())
	changed := live.DeepCopy()
	changed.SetLabels(map[string]string{v1alpha1.ManagedByLabel: "me"})
	applied := changed.DeepCopy()
	applied.SetManagedFields(nil)
	applied.SetResourceVersion("")
	force := metav1.ApplyOptions{FieldManager: "me", Force: true}
	all := map[string]error{}
	_, all["update"] = objects.Update(t.Context(), changed, metav1.UpdateOptions{})
	_, all["patch"] = objects.Patch(t.Context(), live.GetName(), types.MergePatchType, merge(t, patch), metav1.PatchOptions{})
	_, all["apply"] = objects.Apply(t.Context(), live.GetName(), applied, force)
	all["delete"] = objects.Delete(t.Context(), live.GetName(), metav1.DeleteOptions{})
	foreground := metav1.DeletePropagationForeground
	all["delete in the foreground"] = objects.Delete(t.Context(), live.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground})
	all["deletecollection"] = objects.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{
		FieldSelector: "metadata.name=" + live.GetName(),
	})
	if status {
		phase := map[string]any{"status": map[string]any{"phase": "Pending"}}
		withStatus := live.DeepCopy()
		withStatus.Object["status"] = phase["status"]
		_, all["update of the status"] = objects.UpdateStatus(t.Context(), withStatus, metav1.UpdateOptions{})
		_, all["patch of the status"] = objects.Patch(t.Context(), live.GetName(), types.MergePatchType, merge(t, phase), metav1.PatchOptions{}, "status")
	}
	return all
}
