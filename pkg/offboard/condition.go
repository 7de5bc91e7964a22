package offboard

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
)

// maxListed is how many of the things that are left the condition lists.
const maxListed = 10

// desiredStatus computes the status of a Tenant, given what is left of its load balancers. Without
// spec.leaving the condition Released is absent.
func desiredStatus(tenant *v1alpha1.Tenant, left []string) v1alpha1.TenantStatus {
	status := *tenant.Status.DeepCopy()
	if !tenant.Spec.Leaving {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.TenantReleased)
		return status
	}
	condition := metav1.Condition{
		Type: v1alpha1.TenantReleased, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReleased, ObservedGeneration: tenant.Generation,
		Message: "nothing is left of the tenant's load balancers; the tenant can be removed",
	}
	if len(left) > 0 {
		condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonStillReleasing
		condition.Message = message.Shorten(listing(left), message.MaxCondition)
	}
	meta.SetStatusCondition(&status.Conditions, condition)
	return status
}

// listing lists the first of the things that are left, and their number.
func listing(left []string) string {
	left = slices.Sorted(slices.Values(left))
	more := ""
	if n := len(left) - maxListed; n > 0 {
		left, more = left[:maxListed], fmt.Sprintf("; and %d more", n)
	}
	return "left: " + strings.Join(left, "; ") + more
}
