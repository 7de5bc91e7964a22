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

// verbs are those that RBAC knows, the special ones included.
var verbs = []string{
	"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection",
	"use", "bind", "escalate", "impersonate", "approve", "sign", "attest",
}

// rights are verbs by resource: "apps/deployments/scale" → "get update". The core group has none before the slash.
type rights map[string]string

// set is the same, made for comparing: "get apps/deployments".
func (r rights) set() map[string]bool {
	cells := map[string]bool{}
	for resource, list := range r {
		for _, verb := range strings.Fields(list) {
			cells[verb+" "+resource] = true
		}
	}
	return cells
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
		// Asked for by admission, never by a request.
		{Group: "controlee.dev", Resource: "foos/finalizers"}: true,
		{Group: "apps", Resource: "deployments/finalizers"}:   true,
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
		for _, verb := range verbs {
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
