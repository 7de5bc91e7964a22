package chart_test

import (
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/controlee/controlee/test/cluster"
)

// policies are those that the chart renders with these values.
func policies(t *testing.T, values map[string]any) map[string]admissionv1.ValidatingAdmissionPolicy {
	t.Helper()
	all := map[string]admissionv1.ValidatingAdmissionPolicy{}
	for _, document := range documents(t, render(t, values)) {
		var policy admissionv1.ValidatingAdmissionPolicy
		if err := yaml.Unmarshal(document, &policy); err == nil && policy.Kind == "ValidatingAdmissionPolicy" {
			all[policy.Name] = policy
		}
	}
	return all
}

// Every right to write that the operator has is fenced, but for what leadership is made of.
func TestFenceCoversEveryWrite(t *testing.T) {
	exempt := []string{
		"events", "events.k8s.io/events", // tell of a loss too
		"coordination.k8s.io/leases", "controlee.dev/fences", // by these a leader is made
		"controlee.dev/foos/finalizers",                                                   // no request carries it
		"authentication.k8s.io/tokenreviews", "authorization.k8s.io/subjectaccessreviews", // nothing is written
	}
	all := policies(t, nil)
	covered := map[string]bool{}
	for _, name := range []string{fenced, fencedObjects} {
		for _, rule := range all[name].Spec.MatchConstraints.ResourceRules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, operation := range rule.Operations {
						covered[string(operation)+" "+resourceKey(group, resource)] = true
					}
				}
			}
		}
	}
	operations := map[string][]admissionv1.OperationType{
		"create": {admissionv1.Create}, "update": {admissionv1.Update}, "patch": {admissionv1.Create, admissionv1.Update}, // apply creates
		"delete": {admissionv1.Delete}, "deletecollection": {admissionv1.Delete},
	}
	writes := 0
	for _, file := range []string{"cluster", "metrics-auth", "system", "tenant"} {
		for _, rule := range readRole(t, "operator/"+file+".yaml").Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					key := resourceKey(group, resource)
					for _, verb := range rule.Verbs {
						for _, operation := range operations[verb] {
							writes++
							is, free := covered[string(operation)+" "+key], slices.Contains(exempt, key)
							if is == free {
								t.Errorf("rbac/operator/%s.yaml: %s %s: fenced: %v, exempt: %v", file, verb, key, is, free)
							}
						}
					}
				}
			}
		}
	}
	if writes < 20 {
		t.Errorf("found %d writes in rbac/operator, want 20 or more", writes)
	}
}

// A policy that is refused its parameter refuses everybody, whoever is asking: the one that does so may only be about what nobody
// but the operator writes. Deletes are not among that, since Kubernetes' own controllers do them.
func TestMissingFenceCanStopNobodyElse(t *testing.T) {
	for name, policy := range policies(t, nil) {
		if policy.Spec.ParamKind == nil || *policy.Spec.FailurePolicy == admissionv1.Ignore {
			continue
		}
		for _, rule := range policy.Spec.MatchConstraints.ResourceRules {
			for _, resource := range rule.Resources {
				ours := slices.Equal(rule.APIGroups, []string{"controlee.dev"}) && (resource == "bars" || strings.HasSuffix(resource, "/status"))
				if !ours || slices.Contains(rule.Operations, admissionv1.Delete) || slices.Contains(rule.Operations, admissionv1.OperationAll) {
					t.Errorf("%s: %v %v/%s", name, rule.Operations, rule.APIGroups, resource)
				}
			}
		}
	}
}

// The API server checks the types of expressions when it has compiled them, and notes what cannot be right.
func TestPoliciesAreWellTyped(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace)
	e.install(t, cluster.Chart{Release: "controlee", Namespace: systemNamespace, Values: map[string]any{
		"lock": map[string]any{"breakGlassGroups": []any{"firefighters"}},
	}})
	want := []string{barObjectsLocked, barsLocked, classUse, fenced, fencedObjects}
	var names []string
	eventually(t, "all policies are checked", func() bool {
		list, err := e.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=controlee"})
		if err != nil {
			t.Fatal(err)
		}
		names = nil
		for _, policy := range list.Items {
			if policy.Status.ObservedGeneration != policy.Generation || policy.Status.TypeChecking == nil {
				return false
			}
			names = append(names, policy.Name)
			for _, warning := range policy.Status.TypeChecking.ExpressionWarnings {
				t.Errorf("%s: %s: %s", policy.Name, warning.FieldRef, warning.Warning)
			}
		}
		return true
	})
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("the chart made policies %v, want %v", names, want)
	}
}
