package claim

import (
	"slices"
	"time"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// grace is how long the operator may be without access to a tenant's namespace before the Bars of that namespace are released:
// a RoleBinding that is deleted and made again, as `helm upgrade` may do, is no reason.
const grace = 30 * time.Second

// fateOf says what becomes of the Bars of a namespace that is not served: whether they are to be released, and else after how long
// to look again (0: an event will tell). It depends on nothing but its arguments; states are those of this process.
func fateOf(namespace string, tenants []v1alpha1.Tenant, systemNamespace string, states func(tenant string) map[string]tenancy.State,
	now time.Time,
) (abandoned bool, again time.Duration) {
	holder, ok := tenancy.Assign(tenants, systemNamespace).Tenants[namespace]
	if !ok {
		return true, 0
	}
	if states(holder)[namespace].Reason != v1alpha1.ReasonAccessDenied {
		return false, 0 // its cache is being filled, or was about to be; the Tenant's status changes when that ends
	}
	tenant := tenants[slices.IndexFunc(tenants, func(t v1alpha1.Tenant) bool { return t.Name == holder })]
	for _, status := range tenant.Status.Namespaces {
		if status.Name == namespace && status.Reason == v1alpha1.ReasonAccessDenied {
			left := grace - now.Sub(status.Since.Time)
			return left <= 0, max(left, 0)
		}
	}
	return false, 0 // to be written; the write is an event
}
