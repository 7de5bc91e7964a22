package gateway

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
)

// Condition types of a route's parent, as the Gateway API defines them.
const (
	accepted     = "Accepted"
	resolvedRefs = "ResolvedRefs"
)

// parentStatus is an entry of a route's status.parents: what one controller says of the route and
// one of its parents.
type parentStatus struct {
	ControllerName string             `json:"controllerName"`
	ParentRef      parentRef          `json:"parentRef"`
	Conditions     []metav1.Condition `json:"conditions"`
}

// Observe tells whether the Gateway has taken the route, and can reach what is behind it.
func (Provider) Observe(bar *v1alpha1.Bar, class *v1alpha1.BarClass, live []client.Object) provider.Observation {
	settings := settingsOf(class)
	where := parentName(settings.ParentRef)
	route := live[len(live)-1]

	entries := entriesOf(route, parentOf(settings.ParentRef))
	taken := current(entries, accepted, route.GetGeneration())
	if observation := judge(where, taken, current(entries, resolvedRefs, route.GetGeneration())); observation != nil {
		return *observation
	}
	ready := provider.Observation{Ready: true, Reason: v1alpha1.ReasonProvisioned, Message: where + " serves the route"}
	// The template was checked when the route was made.
	if host, err := hostname(settings.HostnameTemplate, bar); err == nil && host != "" {
		ready.Addresses = []v1alpha1.BarAddress{{Type: v1alpha1.HostnameAddressType, Value: host}}
	} else {
		ready.Message += "; its address is the Gateway's, which the platform knows"
	}
	return ready
}

// verdict is one condition of one controller.
type verdict struct {
	controller string
	metav1.Condition
}

// judge returns why a route does not serve, nil if it does. All controllers that wrote an entry for
// the Gateway must accept the route: one Gateway has one controller, and the route's status does
// not tell it from an earlier one, whose entry stays.
func judge(where string, taken, resolved []verdict) *provider.Observation {
	refuses := func(v verdict) bool { return v.Status != metav1.ConditionTrue }
	refused := slices.IndexFunc(taken, refuses)
	unresolved := slices.IndexFunc(resolved, refuses)
	accepts := slices.IndexFunc(taken, func(v verdict) bool { return !refuses(v) })
	switch {
	case len(taken) == 0:
		return missing(v1alpha1.ReasonRoutePending, "waiting for the controller of %s to take the route", where)
	case refused >= 0 && accepts >= 0:
		return missing(v1alpha1.ReasonRouteNotAccepted,
			"controllers disagree about the route at %s: %s accepts the route, %s does not: %s: %s; "+
				"ask your platform admin to remove, from the status of the route, the entry of the one that does not serve this Gateway",
			where, taken[accepts].controller, taken[refused].controller, taken[refused].Reason, taken[refused].Message)
	case refused >= 0:
		return missing(v1alpha1.ReasonRouteNotAccepted, "%s does not take the route: %s: %s", where, taken[refused].Reason, taken[refused].Message)
	case unresolved >= 0:
		return missing(v1alpha1.ReasonBackendNotResolved, "%s cannot send traffic on: %s: %s", where, resolved[unresolved].Reason, resolved[unresolved].Message)
	}
	return nil
}

// missing is the observation of a route that does not serve.
func missing(reason, format string, args ...any) *provider.Observation {
	return &provider.Observation{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// entriesOf returns the entries for one parent, without those for parents that the route has
// referenced earlier: their controllers may be slow to remove them, or be gone.
func entriesOf(route client.Object, parent parentRef) []parentStatus {
	return slices.DeleteFunc(decode[parentStatus](route, "status", "parents"), func(entry parentStatus) bool {
		return entry.ParentRef.withDefaults(route.GetNamespace()) != parent
	})
}

// current returns what each controller says with the conditions of a type. Conditions of the
// route's present generation go before those without a generation, which some controllers leave
// out. Conditions of an earlier generation do not count.
func current(entries []parentStatus, kind string, generation int64) []verdict {
	var present, undated []verdict
	for i := range entries {
		condition := meta.FindStatusCondition(entries[i].Conditions, kind)
		switch {
		case condition == nil:
		case condition.ObservedGeneration >= generation && condition.ObservedGeneration != 0:
			present = append(present, verdict{entries[i].ControllerName, *condition})
		case condition.ObservedGeneration == 0:
			undated = append(undated, verdict{entries[i].ControllerName, *condition})
		}
	}
	if len(present) == 0 {
		present = undated
	}
	slices.SortStableFunc(present, func(a, b verdict) int { return strings.Compare(a.controller, b.controller) })
	return present
}
