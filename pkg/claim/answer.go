package claim

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
)

// Answer is what a tenant is told about a load balancer.
type Answer struct {
	// Word is a phase of a Bar, or a reason. Empty: there is nothing to say.
	Word string
	// Message says what is missing or wrong, and what to do about it.
	Message string
	// Addresses are where the load balancer answers.
	Addresses []v1alpha1.BarAddress

	starting bool // Pods are to be expected, and none is ready yet
}

// transitional says whether the answer is likely to be replaced within a moment by one that a
// tenant acts on.
func (a Answer) transitional() bool {
	switch v1alpha1.BarPhase(a.Word) {
	case v1alpha1.PhasePending, v1alpha1.PhaseProvisioning:
		return true
	case v1alpha1.PhaseReleasing:
		return a.Message == "" // else somebody's finalizer holds it
	case v1alpha1.PhaseReady:
		return a.starting
	default: // Failed, a refusal, or nothing
		return false
	}
}

// maxMessage is the length of a message in an annotation.
const maxMessage = 1024

// AnswerOf says what the tenant is told about a Bar.
func AnswerOf(bar *v1alpha1.Bar) Answer {
	if bar.Spec.Release {
		return Answer{Word: string(v1alpha1.PhaseReleasing), Message: awaited(bar)}
	}
	answer := Answer{Word: string(bar.Status.Phase), Addresses: bar.Status.Addresses}
	switch {
	case bar.Status.Phase == "":
		answer.Word = string(v1alpha1.PhasePending)
	case bar.Status.ObservedGeneration < bar.Generation:
		answer.Word = string(v1alpha1.PhaseProvisioning) // what the status says is of an earlier spec
	case bar.IsNamespaceLost():
		answer.Word = string(v1alpha1.PhaseProvisioning) // who is told is served again; the message is for platform admins
	case bar.Status.Phase != v1alpha1.PhaseReady:
		if ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady); ready != nil && ready.Status != metav1.ConditionTrue {
			answer.Message = ready.Message
		}
	}
	return answer
}

// awaited says what keeps a Bar that is released, if anything does.
func awaited(bar *v1alpha1.Bar) string {
	ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady)
	if bar.Status.Phase != v1alpha1.PhaseReleasing || ready == nil || ready.Reason != v1alpha1.ReasonTerminating {
		return ""
	}
	return ready.Message
}

// answerFor says what a source is told, given its Bar (nil: none) and why it does not get what it
// asks for, if so.
func answerFor(bar *v1alpha1.Bar, r *refusal) Answer {
	var answer Answer
	if bar != nil {
		answer = AnswerOf(bar)
	}
	if r != nil {
		answer.Word, answer.Message = r.reason, r.message
	}
	return answer
}

// State is the value of the annotation bar-state.
func (a Answer) State() string {
	if a.Message == "" {
		return a.Word
	}
	return a.Word + ": " + message.Shorten(a.Message, maxMessage)
}

// Address is the value of the annotation bar-address.
func (a Answer) Address() string {
	values := make([]string, len(a.Addresses))
	for i, address := range a.Addresses {
		values[i] = address.Value
	}
	return strings.Join(values, ",")
}

// ingress is the status of a Service whose class is a BarClass. Mode Proxy says that the addresses
// are for clients alone: nodes must not take them for their own, since another Service has them.
func (a Answer) ingress() (ingress []corev1.LoadBalancerIngress) {
	for _, address := range a.Addresses {
		if address.Type == v1alpha1.HostnameAddressType {
			ingress = append(ingress, corev1.LoadBalancerIngress{Hostname: address.Value})
		} else {
			ingress = append(ingress, corev1.LoadBalancerIngress{IP: address.Value, IPMode: ptr.To(corev1.LoadBalancerIPModeProxy)})
		}
	}
	return ingress
}

// refusals are the words for a source that does not get what it asks for.
var refusals = []string{
	v1alpha1.ReasonBarClassNotFound, v1alpha1.ReasonClassNotAllowed, v1alpha1.ReasonOverLimit, v1alpha1.ReasonConflictingClasses,
	v1alpha1.ReasonInvalidPorts, v1alpha1.ReasonUnsupportedSource, v1alpha1.ReasonConflict, v1alpha1.ReasonRefused,
}

// Refusal reads the annotation bar-state of a source that does not get what it asks for.
func Refusal(state string) (reason, why string, refused bool) {
	reason, why, _ = strings.Cut(state, ": ")
	return reason, why, slices.Contains(refusals, reason)
}
