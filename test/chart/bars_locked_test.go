package chart_test

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Only the operator writes Bars, only in its own namespace, whatever RBAC gives to others.
func TestBarsAreLocked(t *testing.T) {
	e := start(t)
	chart, operator := e.locked(t)
	bars := operator.dynamic.Resource(barGVR).Namespace(systemNamespace)
	live, err := bars.Create(t.Context(), bar("web", "web"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch := map[string]any{"spec": map[string]any{"release": true}}
	firefighter := e.clusterAdmin(t, "fay", "firefighters")
	e.grant(t, systemNamespace, account(systemNamespace, "neighbour"))
	e.grant(t, systemNamespace, person("ada"))

	for who, c := range map[string]client{
		"a system:masters admin":                          {e.kube, e.dynamic},
		"a cluster-admin":                                 e.clusterAdmin(t, "root"),
		"a member of a group that breaks no glass":        firefighter,
		"a tenant's admin who was given the namespace":    newClient(t, e.user(t, "ada", "team-a-leads")),
		"another ServiceAccount of the system namespace":  newClient(t, e.serviceAccount(t, systemNamespace, "neighbour")),
		"the operator's namesake in a tenant's namespace": e.namesake(t),
	} {
		t.Run(who, func(t *testing.T) {
			others := c.dynamic.Resource(barGVR).Namespace(systemNamespace)
			_, err := others.Create(t.Context(), bar("another", "web"), metav1.CreateOptions{})
			refused(t, "create", err, barsLocked, "may not write Bars, whatever its rights", "change Deployment team-a/web", "lock.breakGlassGroups")
			for what, err := range writesOf(t, c, barGVR, live, patch, true) {
				refused(t, what, err, barsLocked, "only system:serviceaccount:controlee-system:controlee may", "change Deployment team-a/web", "lock.breakGlassGroups")
			}
		})
	}

	t.Run("without rights RBAC refuses", func(t *testing.T) {
		alice := newClient(t, e.user(t, "alice"))
		for what, err := range writesOf(t, alice, barGVR, live, patch, true) {
			if !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
				t.Errorf("%s: got %v, want Forbidden by RBAC", what, err)
			}
		}
	})

	t.Run("the operator, elsewhere", func(t *testing.T) {
		foreign := bar("web", "web")
		foreign.SetNamespace("team-a")
		_, err := operator.dynamic.Resource(barGVR).Namespace("team-a").Create(t.Context(), foreign, metav1.CreateOptions{})
		refused(t, "create", err, barsLocked, "Bars live in namespace controlee-system alone, not in team-a")
	})

	t.Run("the operator, at home", func(t *testing.T) {
		_, err := bars.Patch(t.Context(), "web", types.MergePatchType, merge(t, map[string]any{"status": map[string]any{"phase": "Pending"}}), metav1.PatchOptions{}, "status")
		admitted(t, "patch of the status", err)
		_, err = bars.Patch(t.Context(), "web", types.MergePatchType, merge(t, patch), metav1.PatchOptions{})
		admitted(t, "patch", err)
	})

	t.Run("Kubernetes' controllers delete, and no more", func(t *testing.T) {
		for user, subject := range map[string]rbacv1.Subject{
			"system:serviceaccount:kube-system:namespace-controller":      account(metav1.NamespaceSystem, "namespace-controller"),
			"system:serviceaccount:kube-system:generic-garbage-collector": account(metav1.NamespaceSystem, "generic-garbage-collector"),
			"system:kube-controller-manager":                              person("system:kube-controller-manager"),
		} {
			others := e.impersonated(t, user, subject).dynamic.Resource(barGVR).Namespace(systemNamespace)
			_, err := others.Create(t.Context(), bar("another", "web"), metav1.CreateOptions{})
			refused(t, user+": create", err, barsLocked, user+" may not write Bars")
			_, err = others.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec": {"className": "edge"}}`), metav1.PatchOptions{})
			refused(t, user+": patch", err, barsLocked, user+" may not write Bars")
			_, err = others.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"status": {"phase": "Failed"}}`), metav1.PatchOptions{}, "status")
			refused(t, user+": patch of the status", err, barsLocked, user+" may not write Bars")
			admitted(t, user+": delete", others.Delete(t.Context(), "web", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
		}
	})

	t.Run("who may delete a Bar lets go of one whose namespace is lost", func(t *testing.T) {
		ready := func(status, reason string) {
			t.Helper()
			condition := map[string]any{"type": "Ready", "status": status, "reason": reason, "message": "", "lastTransitionTime": "2030-01-01T00:00:00Z"}
			_, err := bars.Patch(t.Context(), "web", types.MergePatchType, merge(t, map[string]any{"status": map[string]any{"conditions": []any{condition}}}), metav1.PatchOptions{}, "status")
			admitted(t, "the operator's patch of the status", err)
		}
		dry := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
		all := metav1.ListOptions{FieldSelector: "metadata.name=web"}
		root := e.clusterAdmin(t, "root").dynamic.Resource(barGVR).Namespace(systemNamespace)
		ready("False", "NoSelector")
		refused(t, "delete of a Bar that failed", root.Delete(t.Context(), "web", dry), barsLocked, "may not write Bars, whatever its rights")
		ready("Unknown", "NamespaceLost")
		admitted(t, "delete of a lost Bar", root.Delete(t.Context(), "web", dry))
		admitted(t, "delete of all lost Bars", root.DeleteCollection(t.Context(), dry, all))
		_, err := root.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec": {"className": "edge"}}`), metav1.PatchOptions{})
		refused(t, "patch of a lost Bar", err, barsLocked, "may not write Bars, whatever its rights")
		_, err = root.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"status": {"conditions": []}}`), metav1.PatchOptions{}, "status")
		refused(t, "patch of the status of a lost Bar", err, barsLocked, "may not write Bars, whatever its rights")
		err = newClient(t, e.user(t, "alice")).dynamic.Resource(barGVR).Namespace(systemNamespace).Delete(t.Context(), "web", dry)
		if !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
			t.Errorf("delete without the right: got %v, want Forbidden by RBAC", err)
		}
		ready("True", "Provisioned")
		refused(t, "delete of a healthy Bar", root.Delete(t.Context(), "web", dry), barsLocked, "may not write Bars, whatever its rights")
		refused(t, "delete of all Bars", root.DeleteCollection(t.Context(), dry, all), barsLocked, "may not write Bars, whatever its rights")
	})

	t.Run("broken glass", func(t *testing.T) {
		broken := chart
		broken.Values = with(chart.Values, map[string]any{"lock": map[string]any{"breakGlassGroups": []any{`a "quoted" \ group`, "firefighters"}}})
		e.upgrade(t, broken)
		others := firefighter.dynamic.Resource(barGVR).Namespace(systemNamespace)
		eventually(t, "the group may write Bars", func() bool {
			_, err := others.Patch(t.Context(), "web", types.MergePatchType, merge(t, map[string]any{"metadata": map[string]any{"labels": map[string]any{"by": "fay"}}}), metav1.PatchOptions{})
			return err == nil
		})
		_, err := e.dynamic.Resource(barGVR).Namespace(systemNamespace).Create(t.Context(), bar("another", "web"), metav1.CreateOptions{})
		refused(t, "somebody else's create", err, barsLocked)
		foreground := metav1.DeletePropagationForeground
		admitted(t, "delete", others.Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: &foreground}))
		eventually(t, "the garbage collector takes the Bar away", func() bool { return !e.exists(t, barGVR, systemNamespace, "web") })

		e.upgrade(t, chart)
		eventually(t, "the group may no longer write Bars", func() bool {
			_, err := others.Create(t.Context(), bar("another", "web"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+barsLocked+"'")
		})
	})
}

// namesake is a ServiceAccount of the operator's name in another namespace.
func (e *env) namesake(t *testing.T) client {
	t.Helper()
	e.grant(t, systemNamespace, account("team-a", "controlee"))
	return newClient(t, e.serviceAccount(t, "team-a", "controlee"))
}

// The chart's policies stay when its namespace is deleted without it being uninstalled. They must not stand in the way.
func TestNamespacesCanBeDeleted(t *testing.T) {
	e := start(t)
	_, operator := e.locked(t)
	for _, name := range []string{"web", "api"} {
		if _, err := operator.dynamic.Resource(barGVR).Namespace(systemNamespace).Create(t.Context(), bar(name, name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	web, err := e.kube.AppsV1().Deployments("team-a").Create(t.Context(), deployment("web", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operator.CoreV1().Services("team-a").Create(t.Context(), ofBar("web", web), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { e.removeClusterScoped(t) })
	e.deleteNamespaces(t, "team-a", systemNamespace)

	t.Run("what is left hinders nobody but the operator", func(t *testing.T) {
		_, err := e.kube.AppsV1().Deployments("elsewhere").Create(t.Context(), deployment("web", nil), metav1.CreateOptions{})
		admitted(t, "a Deployment", err)
		_, err = e.kube.CoreV1().Services("elsewhere").Create(t.Context(), service("web", nil, nil), metav1.CreateOptions{})
		admitted(t, "a Service", err)
		e.deleteNamespaces(t, "elsewhere", "team-b")
	})
}
