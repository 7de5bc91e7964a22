package chart_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/controlee/controlee/test/cluster"
)

const (
	see  = "get list watch"
	edit = see + " create update patch delete"
	full = edit + " deletecollection"
)

// What each persona may do in its namespaces, cell by cell. It is written down a second time on purpose: a change of rbac/tenant has to
// be made here as well, where it is seen next to what the others may do.
var (
	viewRights = rights{
		"controlee.dev/foos":                   see,
		"controlee.dev/foos/status":            see,
		"controlee.dev/foos/scale":             see,
		"apps/deployments":                     see,
		"apps/deployments/status":              see,
		"apps/deployments/scale":               see,
		"apps/replicasets":                     see,
		"autoscaling/horizontalpodautoscalers": see,
		"policy/poddisruptionbudgets":          see,
		"pods":                                 see,
		"pods/log":                             see,
		"pods/status":                          see,
		"services":                             see,
		"services/status":                      see,
		"discovery.k8s.io/endpointslices":      see,
		"networking.k8s.io/networkpolicies":    see,
		"configmaps":                           see,
		"persistentvolumeclaims":               see,
		"serviceaccounts":                      see,
		"events":                               see,
		"events.k8s.io/events":                 see,
		"limitranges":                          see,
		"resourcequotas":                       see,
		"namespaces":                           "get",
	}
	editRights = rights{
		"controlee.dev/foos":                   edit,
		"controlee.dev/foos/status":            "get",
		"controlee.dev/foos/scale":             "get update patch",
		"apps/deployments":                     edit,
		"apps/deployments/status":              see,
		"apps/deployments/scale":               "get update patch",
		"apps/replicasets":                     see,
		"autoscaling/horizontalpodautoscalers": edit,
		"policy/poddisruptionbudgets":          edit,
		"pods":                                 see + " delete",
		"pods/log":                             see,
		"pods/status":                          see,
		"services":                             edit,
		"services/status":                      see,
		"discovery.k8s.io/endpointslices":      see,
		"networking.k8s.io/networkpolicies":    see,
		"configmaps":                           edit,
		"persistentvolumeclaims":               edit,
		"secrets":                              edit,
		"serviceaccounts":                      see,
		"events":                               see,
		"events.k8s.io/events":                 see,
		"limitranges":                          see,
		"resourcequotas":                       see,
		"namespaces":                           "get",
	}
	adminRights = rights{
		"controlee.dev/foos":                   full,
		"controlee.dev/foos/status":            "get",
		"controlee.dev/foos/scale":             "get update patch",
		"apps/deployments":                     full,
		"apps/deployments/status":              see,
		"apps/deployments/scale":               "get update patch",
		"apps/replicasets":                     see,
		"autoscaling/horizontalpodautoscalers": full,
		"policy/poddisruptionbudgets":          full,
		"pods":                                 see + " delete deletecollection",
		"pods/attach":                          "get create",
		"pods/exec":                            "get create",
		"pods/portforward":                     "get create",
		"pods/log":                             see,
		"pods/status":                          see,
		"services":                             full,
		"services/status":                      see,
		"discovery.k8s.io/endpointslices":      see,
		"networking.k8s.io/networkpolicies":    full,
		"configmaps":                           full,
		"persistentvolumeclaims":               full,
		"secrets":                              full,
		"serviceaccounts":                      full,
		"events":                               see,
		"events.k8s.io/events":                 see,
		"limitranges":                          see,
		"resourcequotas":                       see,
		"namespaces":                           "get",
	}
	platformViewerRights = rights{
		"controlee.dev/bars":                see,
		"controlee.dev/bars/status":         see,
		"controlee.dev/fences":              see,
		"controlee.dev/fences/status":       see,
		"controlee.dev/tenants":             see,
		"controlee.dev/tenants/status":      see,
		"coordination.k8s.io/leases":        see,
		"apps/deployments":                  see,
		"apps/replicasets":                  see,
		"pods":                              see,
		"pods/log":                          see,
		"services":                          see,
		"policy/poddisruptionbudgets":       see,
		"networking.k8s.io/networkpolicies": see,
		"events":                            see,
		"events.k8s.io/events":              see,
	}
	barClassViewerRights = rights{
		"controlee.dev/barclasses":        see,
		"controlee.dev/barclasses/status": see,
	}
)

// twoTenants are two teams with a person for each persona; team-b's namespace is made by the chart.
func twoTenants() map[string]any {
	return map[string]any{
		"tenants": []any{
			map[string]any{
				"name":              "team-a",
				"namespaces":        []any{"team-a"},
				"admins":            map[string]any{"groups": []any{"team-a-leads"}},
				"editors":           map[string]any{"users": []any{"alice"}},
				"viewers":           map[string]any{"groups": []any{"support"}},
				"allowedBarClasses": []any{"internal"},
			},
			map[string]any{
				"name":             "team-b",
				"namespaces":       []any{"team-b"},
				"admins":           map[string]any{"users": []any{"bea"}},
				"createNamespaces": map[string]any{"create": true},
			},
		},
		"rbac": map[string]any{"platformViewers": map[string]any{"users": []any{"pat"}}},
	}
}

// A persona × resource × verb matrix, asked of a real API server by each person, for every resource that it serves.
func TestPersonas(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace, "team-a")
	t.Cleanup(func() { e.deleteNamespaces(t, "team-b") })
	e.install(t, cluster.Chart{Release: "controlee", Namespace: systemNamespace, Values: twoTenants()})
	resources := e.resources(t)

	people := []struct {
		user   string
		groups []string
		// home is where the person may do something, and what.
		home   string
		rights rights
	}{
		{user: "ada", groups: []string{"team-a-leads"}, home: "team-a", rights: adminRights},
		{user: "alice", home: "team-a", rights: editRights},
		{user: "vic", groups: []string{"support"}, home: "team-a", rights: viewRights},
		{user: "bea", home: "team-b", rights: adminRights},
		{user: "pat", home: systemNamespace, rights: union(platformViewerRights, barClassViewerRights)},
		{user: "eve", groups: []string{"team-a", "team-b", "controlee-tenant-admin"}},
	}
	nobody := e.user(t, "nobody-in-particular")
	everybody := either(allowed(t, nobody, resources, "", ""), listed(t, nobody, metav1.NamespaceDefault))

	for _, person := range people {
		t.Run(person.user, func(t *testing.T) {
			config := e.user(t, person.user, person.groups...)
			if person.home != "" {
				compare(t, person.user+" in "+person.home, allowed(t, config, resources, person.home, ""), person.rights.set(), everybody)
			}
			elsewhere := rights{}
			if person.user == "pat" { // bound cluster-wide, since BarClasses are
				elsewhere = barClassViewerRights
			}
			for _, place := range []string{"team-a", "team-b", systemNamespace, metav1.NamespaceDefault, metav1.NamespaceSystem} {
				if place != person.home {
					compare(t, person.user+" in "+place, listed(t, config, place), elsewhere.set(), everybody)
				}
			}
		})
	}
	// The list above says so too; here every single question is asked.
	t.Run("a team in another's namespace and in the whole cluster", func(t *testing.T) {
		bea := e.user(t, "bea")
		compare(t, "bea in team-a", allowed(t, bea, resources, "team-a", ""), nil, everybody)
		compare(t, "bea in the whole cluster", allowed(t, bea, resources, "", ""), nil, everybody)
	})

	t.Run("BarClasses", func(t *testing.T) {
		classes := []schema.GroupResource{{Group: "controlee.dev", Resource: "barclasses"}}
		use := map[string]bool{"use controlee.dev/barclasses": true}
		for _, c := range []struct {
			user, group, namespace, class string
			want                          map[string]bool
			reason                        string
		}{
			{"ada", "team-a-leads", "team-a", "internal", use, "an admin uses an allowed class"},
			{"alice", "", "team-a", "internal", use, "an editor uses an allowed class"},
			{"vic", "support", "team-a", "internal", nil, "a viewer writes nothing, and so uses nothing"},
			{"alice", "", "team-a", "edge", nil, "another class was not allowed"},
			{"alice", "", "team-b", "internal", nil, "another team's namespace"},
			{"alice", "", "", "internal", nil, "the class itself, cluster-wide"},
			{"bea", "", "team-b", "internal", nil, "a team that was allowed no class"},
		} {
			var groups []string
			if c.group != "" {
				groups = append(groups, c.group)
			}
			got := allowed(t, e.user(t, c.user, groups...), classes, c.namespace, c.class)
			compare(t, c.user+", class "+c.class+" in "+placeName(c.namespace)+" ("+c.reason+")", got, c.want, nil)
		}
	})

	t.Run("requests", func(t *testing.T) { testRequests(t, e) })
}

// testRequests does some of it for real: what a review says is what a request meets.
func testRequests(t *testing.T, e *env) {
	foo := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "controlee.dev/v1alpha1", "kind": "Foo",
		"metadata": map[string]any{"name": "web"},
		"spec":     map[string]any{"image": "registry.example.com/web:1"},
	}}
	alice, bea, vic := e.as(t, "alice"), e.as(t, "bea"), e.as(t, "vic", "support")

	made, err := alice.Resource(fooGVR).Namespace("team-a").Create(t.Context(), foo, metav1.CreateOptions{})
	if err != nil {
		t.Fatal("an editor cannot create a Foo: ", err)
	}
	if _, err := vic.Resource(fooGVR).Namespace("team-a").Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
		t.Error("a viewer cannot read a Foo: ", err)
	}
	forbidden := map[string]error{}
	foos := bea.Resource(fooGVR).Namespace("team-a")
	_, forbidden["another team's get"] = foos.Get(t.Context(), "web", metav1.GetOptions{})
	_, forbidden["another team's list"] = foos.List(t.Context(), metav1.ListOptions{})
	_, forbidden["another team's create"] = foos.Create(t.Context(), foo, metav1.CreateOptions{})
	_, forbidden["another team's update"] = foos.Update(t.Context(), made, metav1.UpdateOptions{})
	_, forbidden["another team's apply"] = foos.Apply(t.Context(), "web", foo, metav1.ApplyOptions{FieldManager: "bea"})
	forbidden["another team's delete"] = foos.Delete(t.Context(), "web", metav1.DeleteOptions{})
	forbidden["another team's deletecollection"] = foos.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
	_, forbidden["a viewer's create"] = vic.Resource(fooGVR).Namespace("team-a").Create(t.Context(), foo, metav1.CreateOptions{})
	_, forbidden["an editor's write of a status"] = alice.Resource(fooGVR).Namespace("team-a").UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
	_, forbidden["an editor's read of Bars"] = alice.Resource(barGVR).Namespace(systemNamespace).List(t.Context(), metav1.ListOptions{})
	_, forbidden["an editor's read of its Tenant"] = alice.Resource(tenantGVR).Namespace(systemNamespace).Get(t.Context(), "team-a", metav1.GetOptions{})
	_, forbidden["an editor's list of all Foos"] = alice.Resource(fooGVR).List(t.Context(), metav1.ListOptions{})
	for what, err := range forbidden {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: got %v, want Forbidden", what, err)
		}
	}
	if err := alice.Resource(fooGVR).Namespace("team-a").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Error("an editor cannot delete a Foo: ", err)
	}
}

// user is a person with a client certificate.
func (e *env) user(t *testing.T, name string, groups ...string) *rest.Config {
	t.Helper()
	config, err := e.UserConfig(name, groups...)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func (e *env) as(t *testing.T, name string, groups ...string) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(unlimited(e.user(t, name, groups...)))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func placeName(namespace string) string {
	if namespace == "" {
		return "the whole cluster"
	}
	return namespace
}
