package tenancy

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

const system = "controlee-system"

var epoch = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

type tenantOption func(*v1alpha1.Tenant)

func tenant(name string, options ...tenantOption) v1alpha1.Tenant {
	t := v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: system, CreationTimestamp: epoch, Generation: 1}}
	for _, option := range options {
		option(&t)
	}
	return t
}

func namespaces(names ...string) tenantOption {
	return func(t *v1alpha1.Tenant) { t.Spec.Namespaces = names }
}

func created(after time.Duration) tenantOption {
	return func(t *v1alpha1.Tenant) { t.CreationTimestamp = metav1.NewTime(epoch.Add(after)) }
}

func recorded(namespace string, state v1alpha1.NamespaceState, reason string) tenantOption {
	return func(t *v1alpha1.Tenant) {
		t.Status.Namespaces = append(t.Status.Namespaces, v1alpha1.TenantNamespaceStatus{Name: namespace, State: state, Reason: reason, Since: epoch})
	}
}

func TestAssign(t *testing.T) {
	type want struct {
		tenants map[string]string
		refused map[string]map[string]string // tenant, namespace: reason
	}
	cases := map[string]struct {
		reason  string
		tenants []v1alpha1.Tenant
		want    want
	}{
		"None": {
			reason: "Without Tenants nothing is served.",
			want:   want{tenants: map[string]string{}, refused: map[string]map[string]string{}},
		},
		"Disjoint": {
			reason:  "Tenants with namespaces of their own all get them.",
			tenants: []v1alpha1.Tenant{tenant("a", namespaces("a1", "a2")), tenant("b", namespaces("b1"))},
			want:    want{tenants: map[string]string{"a1": "a", "a2": "a", "b1": "b"}, refused: map[string]map[string]string{}},
		},
		"OlderFirst": {
			reason:  "The older Tenant gets the namespace, whatever the names.",
			tenants: []v1alpha1.Tenant{tenant("a", namespaces("x"), created(time.Minute)), tenant("z", namespaces("x"))},
			want:    want{tenants: map[string]string{"x": "z"}, refused: map[string]map[string]string{"a": {"x": v1alpha1.ReasonNamespaceClaimed}}},
		},
		"SameAgeByName": {
			reason:  "Tenants of one Helm release can be of the same second: the name decides, so that all replicas agree.",
			tenants: []v1alpha1.Tenant{tenant("b", namespaces("x")), tenant("a", namespaces("x"))},
			want:    want{tenants: map[string]string{"x": "a"}, refused: map[string]map[string]string{"b": {"x": v1alpha1.ReasonNamespaceClaimed}}},
		},
		"StatusGivesNoRight": {
			reason: "A status is derived: a backup may lack it, and anybody who may write statuses could take a namespace with it.",
			tenants: []v1alpha1.Tenant{
				tenant("old", namespaces("x")),
				tenant("new", namespaces("x"), created(time.Hour), recorded("x", v1alpha1.NamespaceEngaged, v1alpha1.ReasonEngaged)),
			},
			want: want{tenants: map[string]string{"x": "old"}, refused: map[string]map[string]string{"new": {"x": v1alpha1.ReasonNamespaceClaimed}}},
		},
		"OlderWithoutAccess": {
			reason: "A lost RoleBinding does not open the namespace to another Tenant.",
			tenants: []v1alpha1.Tenant{
				tenant("old", namespaces("x"), recorded("x", v1alpha1.NamespaceRefused, v1alpha1.ReasonAccessDenied)),
				tenant("new", namespaces("x"), created(time.Hour)),
			},
			want: want{tenants: map[string]string{"x": "old"}, refused: map[string]map[string]string{"new": {"x": v1alpha1.ReasonNamespaceClaimed}}},
		},
		"RecordedButNoLongerNamed": {
			reason: "A namespace that left the spec is free, whatever the status still says.",
			tenants: []v1alpha1.Tenant{
				tenant("a", namespaces("y"), recorded("x", v1alpha1.NamespaceEngaged, v1alpha1.ReasonEngaged)),
				tenant("b", namespaces("x"), created(time.Hour)),
			},
			want: want{tenants: map[string]string{"x": "b", "y": "a"}, refused: map[string]map[string]string{}},
		},
		"SystemNamespace": {
			reason:  "The operator's own namespace is nobody's, and the Tenant's other namespaces are served all the same.",
			tenants: []v1alpha1.Tenant{tenant("a", namespaces(system, "a1"))},
			want:    want{tenants: map[string]string{"a1": "a"}, refused: map[string]map[string]string{"a": {system: v1alpha1.ReasonSystemNamespace}}},
		},
		"BeingDeleted": {
			reason: "A Tenant that is being deleted holds nothing.",
			tenants: []v1alpha1.Tenant{
				tenant("a", namespaces("x"), func(t *v1alpha1.Tenant) { t.DeletionTimestamp = &epoch }),
				tenant("b", namespaces("x"), created(time.Hour)),
			},
			want: want{tenants: map[string]string{"x": "b"}, refused: map[string]map[string]string{}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for range 5 { // the order of the list must not matter
				rand.Shuffle(len(tc.tenants), func(i, j int) { tc.tenants[i], tc.tenants[j] = tc.tenants[j], tc.tenants[i] })
				assignment := Assign(tc.tenants, system)
				if diff := cmp.Diff(assignment, Assign(withoutStatus(tc.tenants), system)); diff != "" {
					t.Errorf("the status of a Tenant decides: -with it +without it\n%s", diff)
				}
				reasons := map[string]map[string]string{}
				for tenant, refused := range assignment.Refused {
					reasons[tenant] = map[string]string{}
					for namespace, refusal := range refused {
						reasons[tenant][namespace] = refusal.Reason
						if refusal.Message == "" {
							t.Errorf("%s: refusal of %s without a message", tenant, namespace)
						}
					}
				}
				if diff := cmp.Diff(tc.want.tenants, assignment.Tenants); diff != "" {
					t.Errorf("%s\nTenants: -want +got\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(tc.want.refused, reasons); diff != "" {
					t.Errorf("%s\nRefused: -want +got\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// withoutStatus gives the Tenants as a backup without statuses restores them.
func withoutStatus(tenants []v1alpha1.Tenant) []v1alpha1.Tenant {
	restored := slices.Clone(tenants)
	for i := range restored {
		restored[i].Status = v1alpha1.TenantStatus{}
	}
	return restored
}
