package claim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// action is what becomes of a Bar that exists.
type action int

const (
	// keep leaves the Bar to its source. Its spec follows the request, if that can be granted.
	keep action = iota
	// releaseAfterGrace releases the Bar when the grace period of its BarClass is over.
	releaseAfterGrace
	// releaseNow releases the Bar at once.
	releaseNow
)

// verdict is what becomes of a Bar that exists, and why: the reason is that of the condition
// ReleasePending.
type verdict struct {
	action action
	reason string
}

// verdictOn decides what becomes of a Bar.
//
// A Bar stays as long as its source asks for a load balancer, be the request good or bad, and the
// tenant may use the BarClass that the Bar has. Whether that BarClass exists does not matter. A
// request that cannot be granted is answered with a refusal and changes nothing.
func (s situation) verdictOn(bar *v1alpha1.Bar) verdict {
	switch {
	case s.tenant == nil:
		return verdict{action: keep} // the namespace is about to be lost, see unserved; its source was not read
	case s.source == nil, isGoing(s.source), s.source.GetUID() != bar.Spec.SourceRef.UID:
		return verdict{action: releaseNow} // to delete the source is to release its load balancer
	case s.tenant.Spec.Leaving:
		return verdict{action: releaseNow}
	case s.spec != nil:
		return verdict{action: keep}
	}
	if reasons := s.reasonsToRelease(bar); len(reasons) > 0 {
		return verdict{action: releaseAfterGrace, reason: reasons[0]}
	}
	return verdict{action: keep}
}

// reasonsToRelease are the reasons for which a Bar is released after its grace period.
func (s situation) reasonsToRelease(bar *v1alpha1.Bar) (reasons []string) {
	if !s.asks {
		reasons = append(reasons, v1alpha1.ReasonOptedOut)
	}
	// A route to such a Service would lead wherever its tenant says.
	if service, ok := s.source.(*corev1.Service); ok && service.Spec.Type == corev1.ServiceTypeExternalName {
		reasons = append(reasons, v1alpha1.ReasonUnsupportedSource)
	}
	if !slices.Contains(s.tenant.Spec.AllowedBarClasses, bar.Spec.ClassName) {
		reasons = append(reasons, v1alpha1.ReasonClassNotAllowed)
	}
	return reasons
}

// entitles returns whether the source is the one with this UID and is to get a Bar if it has none.
// A request that is refused gives no claim to what an earlier Bar has left behind.
func (s situation) entitles(uid types.UID) bool {
	return s.source != nil && s.tenant != nil && s.source.GetUID() == uid && s.spec != nil
}
