package chart_test

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/controlee/controlee/test/cluster"
)

// deployerRules are the cluster-wide rights that the chart's README asks for, of somebody who upgrades the release. They leave out the
// kinds that only some namespaces have.
var deployerRules = []rbacv1.PolicyRule{
	{APIGroups: []string{"rbac.authorization.k8s.io", "admissionregistration.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	{APIGroups: []string{"controlee.dev"}, Resources: []string{"barclasses"}, Verbs: []string{"*"}},
	{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get"}},
	{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "create", "update", "patch"}},
}

// deployer is somebody with these rights, with all rights in the system namespace and in the namespaces that the release made, and
// with none besides.
func (e *env) deployer(t *testing.T, made ...string) (name string) {
	t.Helper()
	name = "deployer"
	role, err := e.kube.RbacV1().ClusterRoles().Create(t.Context(),
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Rules: deployerRules}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	binding, err := e.kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Subjects: []rbacv1.Subject{person(name)},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := e.kube.RbacV1().ClusterRoleBindings().Delete(ctx, binding.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if err := e.kube.RbacV1().ClusterRoles().Delete(ctx, role.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	for _, namespace := range append([]string{systemNamespace}, made...) {
		e.grant(t, namespace, person(name))
	}
	return name
}

// An upgrade looks for what protects namespaces where the release made it, and needs no right on it elsewhere.
func TestProtectionIsLookedUpInTheReleasesNamespaces(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace, "team-a")
	t.Cleanup(func() { e.deleteNamespaces(t, "team-b") })
	furnished := tenant("team-b", true, "team-b")
	furnished["createNamespaces"] = map[string]any{
		"create": true, "defaultDenyNetworkPolicy": true, "resourceQuota": map[string]any{"pods": "50"},
		"limitRange": map[string]any{"default": map[string]any{"memory": "256Mi"}},
	}
	chart := cluster.Chart{Release: "controlee", Namespace: systemNamespace, Values: tenants(furnished, tenant("team-a", false, "team-a"))}
	e.install(t, chart)

	chart.Config = e.user(t, e.deployer(t, "team-b"))
	for reason, entry := range map[string]map[string]any{
		"the entry turns all off":                     tenant("team-b", true, "team-b"),
		"the entry does not make the namespace (now)": tenant("team-b", false, "team-b"),
	} {
		chart.Values = tenants(entry, tenant("team-a", false, "team-a"))
		e.upgrade(t, chart)
		if notes := e.latest(t, chart).Info.Notes; strings.Count(notes, "is not in the values any more, and stays") != len(protection) {
			t.Errorf("%s: not the %d objects that stay:\n%s", reason, len(protection), notes)
		}
	}
}
