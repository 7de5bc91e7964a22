package chart_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// verbs are those of requests.
var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// specialVerbs are asked for by admission and by other checks, each about a few resources.
var specialVerbs = map[schema.GroupResource][]string{
	{Group: "controlee.dev", Resource: "barclasses"}:               {"use"},
	{Group: "rbac.authorization.k8s.io", Resource: "roles"}:        {"bind", "escalate"},
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}: {"bind", "escalate"},
	{Resource: "users"}:                                 {"impersonate"},
	{Resource: "groups"}:                                {"impersonate"},
	{Resource: "serviceaccounts"}:                       {"impersonate"},
	{Group: "certificates.k8s.io", Resource: "signers"}: {"approve", "sign", "attest"},
}

// rights are verbs by resource: "apps/deployments/scale" → "get update". The core group has none before the slash.
type rights map[string]string

// set is the same, made for comparing: "get apps/deployments".
func (r rights) set() map[string]bool {
	cells := map[string]bool{}
	for resource, list := range r {
		for verb := range strings.FieldsSeq(list) {
			cells[verb+" "+resource] = true
		}
	}
	return cells
}

func union(a, b rights) rights {
	all := maps.Clone(a)
	for resource, list := range b {
		all[resource] = strings.TrimSpace(all[resource] + " " + list)
	}
	return all
}

func either(a, b map[string]bool) map[string]bool {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// rightsOf writes out rules, without those that are bound to names.
func rightsOf(rules []rbacv1.PolicyRule) rights {
	all := map[string]map[string]bool{}
	for _, rule := range rules {
		if len(rule.ResourceNames) > 0 {
			continue
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				key := resourceKey(group, resource)
				if all[key] == nil {
					all[key] = map[string]bool{}
				}
				for _, verb := range rule.Verbs {
					all[key][verb] = true
				}
			}
		}
	}
	r := rights{}
	for key, list := range all {
		r[key] = strings.Join(slices.Sorted(maps.Keys(list)), " ")
	}
	return r
}

func resourceKey(group, resource string) string {
	if group == "" {
		return resource
	}
	return group + "/" + resource
}

// resources lists all that the API server serves, subresources included.
func (e *env) resources(t *testing.T) []schema.GroupResource {
	t.Helper()
	_, lists, err := e.kube.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[schema.GroupResource]bool{
		// Not served where no kubelet is asked for them, and granted all the same.
		{Resource: "pods/log"}: true, {Resource: "pods/exec"}: true, {Resource: "pods/attach"}: true, {Resource: "pods/portforward"}: true,
		// Not served where the Gateway API is not installed, and granted all the same.
		{Group: "gateway.networking.k8s.io", Resource: "httproutes"}: true,
		{Group: "gateway.networking.k8s.io", Resource: "tcproutes"}:  true,
		{Group: "gateway.networking.k8s.io", Resource: "tlsroutes"}:  true,
		// Asked for by admission, never by a request.
		{Group: "controlee.dev", Resource: "foos/finalizers"}: true,
		{Group: "apps", Resource: "deployments/finalizers"}:   true,
	}
	for resource := range specialVerbs {
		seen[resource] = true
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			seen[schema.GroupResource{Group: version.Group, Resource: resource.Name}] = true
		}
	}
	for _, must := range []string{"foos", "foos/status", "foos/scale", "bars", "tenants", "fences", "barclasses"} {
		if !seen[schema.GroupResource{Group: "controlee.dev", Resource: must}] {
			t.Fatalf("the API server does not serve %s", must)
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b schema.GroupResource) int {
		return strings.Compare(a.String(), b.String())
	})
}

// allowed asks, as the one whose configuration it is, for every resource and verb in a namespace ("" is all of them, and the
// cluster), and returns the cells that are allowed. A name asks about one object alone.
func allowed(t *testing.T, config *rest.Config, resources []schema.GroupResource, namespace, name string) map[string]bool {
	t.Helper()
	client, err := kubernetes.NewForConfig(unlimited(config))
	if err != nil {
		t.Fatal(err)
	}
	var (
		mu    sync.Mutex
		cells = map[string]bool{}
		errs  []error
		wait  sync.WaitGroup
		work  = make(chan authorizationv1.ResourceAttributes)
	)
	for range 8 {
		wait.Go(func() {
			for attributes := range work {
				yes, err := ask(t.Context(), client, attributes)
				mu.Lock()
				if err != nil {
					errs = append(errs, err)
				}
				if yes {
					resource, _ := strings.CutSuffix(attributes.Resource+"/"+attributes.Subresource, "/")
					cells[attributes.Verb+" "+resourceKey(attributes.Group, resource)] = true
				}
				mu.Unlock()
			}
		})
	}
	for _, resource := range resources {
		main, sub, _ := strings.Cut(resource.Resource, "/")
		for _, verb := range append(slices.Clone(verbs), specialVerbs[resource]...) {
			work <- authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: resource.Group, Resource: main, Subresource: sub, Name: name,
			}
		}
	}
	close(work)
	wait.Wait()
	if len(errs) > 0 {
		t.Fatalf("%d questions failed, the first: %v", len(errs), errs[0])
	}
	return cells
}

// listed asks for the rules that hold in a namespace, those of the whole cluster among them, as "kubectl auth can-i --list" does. One
// question instead of thousands, for places where nothing or little is expected. What is granted by name ends in ":NAME".
func listed(t *testing.T, config *rest.Config, namespace string) map[string]bool {
	t.Helper()
	client, err := kubernetes.NewForConfig(unlimited(config))
	if err != nil {
		t.Fatal(err)
	}
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	answer, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Status.Incomplete {
		t.Fatalf("the list of rules is not complete: %s", answer.Status.EvaluationError)
	}
	cells := map[string]bool{}
	for _, rule := range answer.Status.ResourceRules {
		names := []string{""}
		if len(rule.ResourceNames) > 0 {
			names = rule.ResourceNames
		}
		for _, name := range names {
			all := rightsOf([]rbacv1.PolicyRule{{Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources}})
			for cell := range all.set() {
				if name != "" {
					cell += ":" + name
				}
				cells[cell] = true
			}
		}
	}
	return cells
}

func ask(ctx context.Context, client kubernetes.Interface, attributes authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes},
	}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	if answer.Status.EvaluationError != "" {
		return false, fmt.Errorf("%v: %s", attributes, answer.Status.EvaluationError)
	}
	return answer.Status.Allowed, nil
}

// compare fails for each cell that differs; everybody holds what every account may do.
func compare(t *testing.T, who string, got, want, everybody map[string]bool) {
	t.Helper()
	for _, cell := range slices.Sorted(maps.Keys(got)) {
		if !want[cell] && !everybody[cell] {
			t.Errorf("%s may %s, and should not", who, cell)
		}
	}
	for _, cell := range slices.Sorted(maps.Keys(want)) {
		if !got[cell] {
			t.Errorf("%s may not %s, and should", who, cell)
		}
	}
}
