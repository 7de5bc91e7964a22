package v1alpha1

import "k8s.io/apimachinery/pkg/api/meta"

// IsNamespaceLost returns whether the Bar's condition Ready has the reason NamespaceLost.
func (b *Bar) IsNamespaceLost() bool {
	ready := meta.FindStatusCondition(b.Status.Conditions, BarReady)
	return ready != nil && ready.Reason == ReasonNamespaceLost
}
