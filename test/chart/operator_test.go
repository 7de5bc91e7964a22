package chart_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/controlee/controlee/test/cluster"
)

// serviceAccount is a Pod's, with a token bound to it as the kubelet would mount it.
func (e *env) serviceAccount(t *testing.T, namespace, name string) *rest.Config {
	t.Helper()
	if _, err := e.EnsurePod(t.Context(), namespace, name, "probe-"+name); err != nil {
		t.Fatal(err)
	}
	config, err := e.PodTokenConfig(t.Context(), namespace, name, "probe-"+name)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// The operator's ServiceAccount has its rights in tenants' namespaces and its own, and elsewhere nothing: every
// resource that the API server serves is asked for, with every verb.
func TestOperatorHasNoRightsElsewhere(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace, "team-a", "not-a-tenant")
	t.Cleanup(func() { e.deleteNamespaces(t, "team-b") })
	chart := cluster.Chart{Release: "controlee", Namespace: systemNamespace, Values: twoTenants()}
	e.install(t, chart)
	resources := e.resources(t)

	// Every account may do this.
	somebody := e.serviceAccount(t, "not-a-tenant", "somebody")
	everybody := either(allowed(t, somebody, resources, "", ""), listed(t, somebody, metav1.NamespaceDefault))
	operator := e.serviceAccount(t, systemNamespace, "controlee")

	// Whatever the code's markers say, the cluster-wide rights are no more than these.
	clusterWide := rightsOf(append(readRole(t, "operator/cluster.yaml").Rules, readRole(t, "operator/metrics-auth.yaml").Rules...))
	atMost := rights{
		"namespaces":                                "get",
		"controlee.dev/barclasses":                  see,
		"controlee.dev/barclasses/status":           "get update patch",
		"authentication.k8s.io/tokenreviews":        "create",
		"authorization.k8s.io/subjectaccessreviews": "create",
	}.set()
	for cell := range clusterWide.set() {
		if !atMost[cell] {
			t.Errorf("rbac/operator grants %q cluster-wide", cell)
		}
	}
	inTenants := rightsOf(readRole(t, "operator/tenant.yaml").Rules)
	inSystem := rightsOf(readRole(t, "operator/system.yaml").Rules)

	for place, may := range map[string]rights{
		"":                      clusterWide,
		metav1.NamespaceDefault: clusterWide,
		metav1.NamespaceSystem:  clusterWide,
		"team-a":                union(clusterWide, inTenants),
		systemNamespace:         union(clusterWide, inSystem),
	} {
		compare(t, "the operator in "+placeName(place), allowed(t, operator, resources, place, ""), may.set(), everybody)
	}
	for place, may := range map[string]rights{
		metav1.NamespacePublic: clusterWide,
		"not-a-tenant":         clusterWide,
		"team-b": union(union(clusterWide, inTenants), rights{
			"rbac.authorization.k8s.io/rolebindings:controlee-operator": "list watch",
		}),
	} {
		compare(t, "the operator in "+place, listed(t, operator, place), may.set(), everybody)
	}

	t.Run("what is granted by name", func(t *testing.T) {
		lease := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
		fence := schema.GroupResource{Group: "controlee.dev", Resource: "fences"}
		binding := schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}
		for _, c := range []struct {
			resource        schema.GroupResource
			namespace, name string
			want            string
			reason          string
		}{
			{lease, systemNamespace, "controlee", "get list watch create update", "its own Lease, which the chart made"},
			{lease, systemNamespace, "another", "", "somebody else's Lease"},
			{lease, metav1.NamespaceSystem, "controlee", "", "a Lease of another namespace"},
			{fence, systemNamespace, "controlee", "get update", "its own Fence, which the chart made"},
			{fence, systemNamespace, "another", "", "another Fence"},
			{binding, "team-a", "controlee-operator", "list watch", "the RoleBinding that engages it"},
			{binding, "team-a", "controlee-tenant-edit", "", "a RoleBinding of the team's"},
			{binding, "not-a-tenant", "controlee-operator", "", "a namespace of no tenant"},
		} {
			want := rights{resourceKey(c.resource.Group, c.resource.Resource): c.want}
			got := allowed(t, operator, []schema.GroupResource{c.resource}, c.namespace, c.name)
			compare(t, "the operator, "+c.resource.Resource+" "+c.namespace+"/"+c.name+" ("+c.reason+")", got, want.set(), nil)
		}
	})

	t.Run("no reviews where nobody has to say who scrapes", func(t *testing.T) {
		e.upgrade(t, cluster.Chart{Release: chart.Release, Namespace: chart.Namespace, Values: with(twoTenants(), map[string]any{
			"metrics": map[string]any{"auth": false},
		})})
		withoutReviews := rightsOf(readRole(t, "operator/cluster.yaml").Rules)
		compare(t, "the operator in the whole cluster", allowed(t, operator, resources, "", ""), withoutReviews.set(), everybody)
	})
}

// No rule of the operator can be stretched: no wildcard, no verb or kind by which rights are made, nothing of Secrets, and no paths
// besides the resources.
func TestOperatorRulesCannotBeStretched(t *testing.T) {
	for _, file := range []string{"cluster", "metrics-auth", "tenant", "system"} {
		for _, rule := range readRole(t, "operator/"+file+".yaml").Rules {
			for _, verb := range []string{"*", "escalate", "bind", "impersonate"} {
				if slices.Contains(rule.Verbs, verb) {
					t.Errorf("rbac/operator/%s.yaml has the verb %q: %v", file, verb, rule)
				}
			}
			if len(rule.NonResourceURLs) > 0 {
				t.Errorf("rbac/operator/%s.yaml has paths: %v", file, rule)
			}
			if slices.Contains(rule.APIGroups, "*") {
				t.Errorf("rbac/operator/%s.yaml has the group \"*\": %v", file, rule)
			}
			if slices.Contains(rule.APIGroups, "rbac.authorization.k8s.io") && !onlyReads(rule.Verbs) {
				t.Errorf("rbac/operator/%s.yaml writes RBAC: %v", file, rule)
			}
			for _, resource := range rule.Resources {
				if strings.Contains(resource, "*") || resource == "secrets" || resource == "serviceaccounts/token" || resource == "pods/exec" {
					t.Errorf("rbac/operator/%s.yaml has the resource %q: %v", file, resource, rule)
				}
			}
		}
	}
}

func onlyReads(verbs []string) bool {
	return !slices.ContainsFunc(verbs, func(verb string) bool { return !slices.Contains(strings.Fields(see), verb) })
}
