package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

func testUserCertificate(t *testing.T, c *Cluster) {
	config, err := c.UserConfig("jane", "team-a", "staff")
	if err != nil {
		t.Fatal(err)
	}
	user := whoAmI(t, config)
	if user.Username != "jane" || !slices.Contains(user.Groups, "team-a") || !slices.Contains(user.Groups, "staff") {
		t.Errorf("the API server takes the user for %+v", user)
	}
	_, err = clientset(t, config).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a user without a role lists pods: %v", err)
	}
}

func testPodToken(t *testing.T, c *Cluster) {
	namespace := makeNamespace(t, c, "pod-token")
	pod, err := c.EnsurePod(t.Context(), namespace, "operator", "operator-0")
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.EnsurePod(t.Context(), namespace, "operator", "operator-0")
	if err != nil || again.UID != pod.UID {
		t.Errorf("the second call returned pod %s, %v, want %s", again.UID, err, pod.UID)
	}
	config, err := c.PodTokenConfig(t.Context(), namespace, "operator", "operator-0")
	if err != nil {
		t.Fatal(err)
	}
	user := whoAmI(t, config)
	if want := "system:serviceaccount:" + namespace + ":operator"; user.Username != want {
		t.Errorf("the user is %s, want %s", user.Username, want)
	}
	for key, want := range map[string]string{
		"authentication.kubernetes.io/pod-name": "operator-0",
		"authentication.kubernetes.io/pod-uid":  string(pod.UID),
	} {
		if got := user.Extra[key]; len(got) != 1 || got[0] != want {
			t.Errorf("%s is %v, want %s", key, got, want)
		}
	}
	// The API server remembers for some seconds that a token was good, and learns with a delay that a pod is gone: each
	// try takes a token that was not used before.
	var unused []*rest.Config
	for range 20 {
		config, err := c.PodTokenConfig(t.Context(), namespace, "operator", "operator-0")
		if err != nil {
			t.Fatal(err)
		}
		unused = append(unused, config)
	}
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	if err := clientset(t, c.AdminConfig()).CoreV1().Pods(namespace).Delete(t.Context(), "operator-0", now); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, func(ctx context.Context) error {
		if len(unused) == 0 {
			t.Fatal("each of the tokens of a pod that is gone was taken for good")
		}
		reviews := clientset(t, unused[0]).AuthenticationV1().SelfSubjectReviews()
		unused = unused[1:]
		_, err := reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		switch {
		case apierrors.IsUnauthorized(err):
			return nil
		case err == nil:
			return errors.New("the token of a pod that is gone is taken for good")
		default:
			return fmt.Errorf("the token of a pod that is gone: got %w, want unauthorized", err)
		}
	})
	if _, err := c.PodTokenConfig(t.Context(), namespace, "operator", "operator-0"); !apierrors.IsNotFound(err) {
		t.Errorf("a token for a pod that is gone: %v, want not found", err)
	}
}

// testAdmission looks at the plugins that tests rely on.
func testAdmission(t *testing.T, c *Cluster) {
	namespace := makeNamespace(t, c, "admission")
	client := clientset(t, c.AdminConfig())
	_, err := client.CoreV1().Pods(namespace).Create(t.Context(), placeholderPod("missing", "pod"), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a pod with a ServiceAccount that does not exist: %v, want forbidden", err)
	}
	owner, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// A user who may create ConfigMaps but not set finalizers of them cannot block their deletion.
	grant(t, c, namespace, "joe", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}})
	config, err := c.UserConfig("joe")
	if err != nil {
		t.Fatal(err)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: ptr.To(true),
	}}}}
	_, err = clientset(t, config).CoreV1().ConfigMaps(namespace).Create(t.Context(), owned, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "finalizers") {
		t.Errorf("blockOwnerDeletion without a right to the owner's finalizers: %v, want forbidden", err)
	}
}

func testAuditLog(t *testing.T, c *Cluster) {
	config, err := c.UserConfig("auditor")
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	_, err = clientset(t, config).CoreV1().Secrets("kube-system").Get(t.Context(), "treasure", metav1.GetOptions{})
	if !apierrors.IsForbidden(err) {
		t.Fatalf("want forbidden, got %v", err)
	}
	events, err := c.AuditEvents(since)
	if err != nil {
		t.Fatal(err)
	}
	var mine []AuditEvent
	for _, e := range events {
		if e.User.Username == "auditor" {
			mine = append(mine, e)
		}
		if e.RequestReceivedTimestamp.Time.Before(since.Truncate(time.Microsecond)) {
			t.Errorf("%s is from before %s", e, since)
		}
	}
	if len(mine) != 1 {
		t.Fatalf("want one event, got %v", mine)
	}
	e := mine[0]
	if object := e.Object(); e.Verb != "get" || object.Resource != "secrets" || object.Namespace != "kube-system" || object.Name != "treasure" {
		t.Errorf("the event says %s of %+v", e.Verb, object)
	}
	if e.Code() != 403 || !e.Forbidden() {
		t.Errorf("the event says %d, forbidden: %v", e.Code(), e.Forbidden())
	}
}

func testKubectl(t *testing.T, c *Cluster) {
	config, err := c.UserConfig("jane", "team-a")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := c.WriteKubeconfig(path, config, "team-a"); err != nil {
		t.Fatal(err)
	}
	stdout, _, err := c.Kubectl(t.Context(), path, "auth", "whoami")
	if err != nil || !strings.Contains(stdout, "jane") {
		t.Errorf("kubectl auth whoami said %q, %v", stdout, err)
	}
	_, stderr, err := c.Kubectl(t.Context(), path, "get", "pods")
	if err == nil || !strings.Contains(stderr, `in the namespace "team-a"`) {
		t.Errorf("kubectl get pods said %q, %v, want a refusal that names the namespace", stderr, err)
	}
	stdout, _, err = c.Kubectl(t.Context(), "", "get", "nodes", "--output=name")
	if err != nil || strings.Count(stdout, "node/") != 3 {
		t.Errorf("the admin's kubectl get nodes said %q, %v", stdout, err)
	}
}

func whoAmI(t *testing.T, config *rest.Config) authenticationv1.UserInfo {
	t.Helper()
	review, err := clientset(t, config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo
}

// grant gives a user a role in a namespace.
func grant(t *testing.T, c *Cluster, namespace, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	rbac := clientset(t, c.AdminConfig()).RbacV1()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}
	if _, err := rbac.Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := rbac.RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
