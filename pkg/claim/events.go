package claim

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
)

// Reasons of Events: those of the service controllers of cloud providers.
const (
	eventEnsuring = "EnsuringLoadBalancer"
	eventEnsured  = "EnsuredLoadBalancer"
	eventUpdated  = "UpdatedLoadBalancer"
	eventFailed   = "SyncLoadBalancerFailed"
	// eventContested is this project's own: something else keeps removing what the operator writes.
	eventContested = "LoadBalancerStateContested"
	eventDeleting  = "DeletingLoadBalancer"
	eventDeleted   = "DeletedLoadBalancer"
	eventChanging  = "ChangingLoadBalancerClass"
	eventPending   = "LoadBalancerReleasePending"
)

// news are the two annotations of a source.
type news struct{ state, address string }

func (n news) word() string {
	word, _, _ := strings.Cut(n.state, ": ")
	return word
}

// value tells the news from others.
func (n news) value() string { return n.address + " " + n.state }

// topic is what the news are about. A load balancer that is ready stays so whatever its message
// says about the Pods behind it, which may fail and start again without end.
func (n news) topic() string {
	if n.word() == string(v1alpha1.PhaseReady) {
		return n.address + " " + n.word()
	}
	return n.value()
}

func (n news) annotations() map[string]string {
	return map[string]string{v1alpha1.BarStateAnnotation: n.state, v1alpha1.BarAddressAnnotation: n.address}
}

// differ says whether a source with these annotations has to be told the news.
func (n news) differ(present map[string]string) bool {
	for key, value := range n.annotations() {
		if was, exists := present[key]; was != value || exists != (value != "") {
			return true
		}
	}
	return false
}

// announcement is what an Event says.
type announcement struct{ kind, reason, note string }

// announce tells the source of a change of its annotations.
func (r *Reconciler) announce(source client.Object, before, after news) {
	if a := announcementOf(before, after); a != nil {
		r.recorder.Eventf(source, nil, a.kind, a.reason, "SyncLoadBalancer", "%s", message.Shorten(a.note, message.MaxEventNote))
	}
}

// announcementOf chooses the Event for a change of the annotations, nil for one that is not worth
// one.
func announcementOf(before, after news) *announcement {
	was, is := before.word(), after.word()
	switch v1alpha1.BarPhase(is) {
	case v1alpha1.PhasePending, v1alpha1.PhaseProvisioning:
		if was != string(v1alpha1.PhasePending) && was != string(v1alpha1.PhaseProvisioning) {
			return &announcement{corev1.EventTypeNormal, eventEnsuring, "Ensuring load balancer"}
		}
	case v1alpha1.PhaseReady:
		if was != is {
			return &announcement{corev1.EventTypeNormal, eventEnsured, "Ensured load balancer at " + after.address}
		}
		if before.address != after.address {
			return &announcement{corev1.EventTypeNormal, eventUpdated, "Updated load balancer, now at " + after.address}
		}
	case v1alpha1.PhaseReleasing:
		if was != is {
			return &announcement{corev1.EventTypeNormal, eventDeleting, "Deleting load balancer"}
		}
	case "":
		if was == string(v1alpha1.PhaseReleasing) || was == v1alpha1.ReasonReleasePending {
			return &announcement{corev1.EventTypeNormal, eventDeleted, "Deleted load balancer"}
		}
	case v1alpha1.ReasonReleasePending:
		if was != is {
			return &announcement{corev1.EventTypeWarning, eventPending, after.state}
		}
	default: // Failed, or a refusal
		if before.state != after.state {
			return &announcement{corev1.EventTypeWarning, eventFailed, after.state}
		}
	}
	return nil
}
