package tenancy

import (
	"cmp"
	"fmt"
	"slices"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// Refusal says why a Tenant does not get a namespace that it names.
type Refusal struct {
	Reason, Message string
}

// Assignment says which Tenant gets which namespace.
type Assignment struct {
	// Tenants maps a namespace to the name of the Tenant that holds it.
	Tenants map[string]string
	// Refused maps the name of a Tenant to the namespaces that it names and does not get.
	Refused map[string]map[string]Refusal
}

// Assign gives every namespace to one Tenant at most. It is a function of the specs and of when the
// Tenants were created: the same Tenants get the same namespaces after a restart, and after a
// restore from a backup that holds no status.
//
// Of several Tenants that name a namespace the oldest one gets it, of those of one second the one
// whose name sorts first. The system namespace is nobody's: a tenant must not get the operator to
// act where the operator keeps its own records.
func Assign(tenants []v1alpha1.Tenant, systemNamespace string) Assignment {
	result := Assignment{Tenants: map[string]string{}, Refused: map[string]map[string]Refusal{}}
	claims := map[string][]*v1alpha1.Tenant{}
	for i := range tenants {
		tenant := &tenants[i]
		if !tenant.DeletionTimestamp.IsZero() {
			continue
		}
		for _, namespace := range tenant.Spec.Namespaces {
			if namespace == systemNamespace {
				result.refuse(tenant.Name, namespace, Refusal{
					Reason:  v1alpha1.ReasonSystemNamespace,
					Message: fmt.Sprintf("%s is the operator's own namespace and cannot belong to a tenant; remove it from spec.namespaces", namespace),
				})
				continue
			}
			claims[namespace] = append(claims[namespace], tenant)
		}
	}
	for namespace, claimants := range claims {
		slices.SortFunc(claimants, func(a, b *v1alpha1.Tenant) int {
			return cmp.Or(
				a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
				cmp.Compare(a.Name, b.Name),
			)
		})
		holder := claimants[0].Name
		result.Tenants[namespace] = holder
		for _, other := range claimants[1:] {
			result.refuse(other.Name, namespace, Refusal{
				Reason:  v1alpha1.ReasonNamespaceClaimed,
				Message: fmt.Sprintf("namespace %s belongs to Tenant %s, which names it as well and is older; remove it from spec.namespaces of one of both", namespace, holder),
			})
		}
	}
	return result
}

func (a *Assignment) refuse(tenant, namespace string, refusal Refusal) {
	if a.Refused[tenant] == nil {
		a.Refused[tenant] = map[string]Refusal{}
	}
	a.Refused[tenant][namespace] = refusal
}
