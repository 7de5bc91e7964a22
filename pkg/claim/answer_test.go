package claim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// ready makes a Bar that is ready, at two addresses.
func ready(changes ...func(*v1alpha1.Bar)) *v1alpha1.Bar {
	bar := &v1alpha1.Bar{
		ObjectMeta: metav1.ObjectMeta{Generation: 2},
		Status: v1alpha1.BarStatus{
			ObservedGeneration: 2, Phase: v1alpha1.PhaseReady,
			Addresses: []v1alpha1.BarAddress{
				{Type: v1alpha1.IPAddressType, Value: "203.0.113.1"}, {Type: v1alpha1.HostnameAddressType, Value: "web.example.com"},
			},
		},
	}
	for _, change := range changes {
		change(bar)
	}
	return bar
}

func TestAnswer(t *testing.T) {
	phase := func(phase v1alpha1.BarPhase, message string) func(*v1alpha1.Bar) {
		return func(b *v1alpha1.Bar) {
			b.Status.Phase = phase
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.BarReady, Status: metav1.ConditionFalse, Reason: "X", Message: message}}
		}
	}
	cases := map[string]struct {
		reason  string
		bar     *v1alpha1.Bar
		refusal *refusal
		state   string
		address string
	}{
		"Nothing":  {reason: "Who asks for nothing is told nothing."},
		"Ready":    {reason: "All addresses are told.", bar: ready(), state: "Ready", address: "203.0.113.1,web.example.com"},
		"New":      {reason: "A Bar without a phase waits.", bar: &v1alpha1.Bar{}, state: "Pending"},
		"Changing": {reason: "A status of an earlier spec is not the present one's.", bar: ready(func(b *v1alpha1.Bar) { b.Generation = 3 }), state: "Provisioning", address: "203.0.113.1,web.example.com"},
		"Waiting":  {reason: "What is missing is said.", bar: ready(phase(v1alpha1.PhaseProvisioning, "no address yet")), state: "Provisioning: no address yet", address: "203.0.113.1,web.example.com"},
		"Failed":   {reason: "So is what is wrong.", bar: ready(phase(v1alpha1.PhaseFailed, "in the way")), state: "Failed: in the way", address: "203.0.113.1,web.example.com"},
		"Lost": {
			reason: "What a Bar says of a lost namespace is for platform admins. A tenant is told only when its namespace is served again.",
			bar: ready(phase(v1alpha1.PhaseFailed, "kubectl delete bar"), func(b *v1alpha1.Bar) {
				b.Status.Conditions[0].Reason = v1alpha1.ReasonNamespaceLost
			}), state: "Provisioning", address: "203.0.113.1,web.example.com",
		},
		"Released": {reason: "What is being taken away has no address.", bar: ready(func(b *v1alpha1.Bar) { b.Spec.Release = true }), state: "Releasing"},
		"Held": {
			reason: "What a release waits for is said.",
			bar: ready(phase(v1alpha1.PhaseReleasing, "waiting for Service x"), func(b *v1alpha1.Bar) {
				b.Spec.Release, b.Status.Conditions[0].Reason = true, v1alpha1.ReasonTerminating
			}), state: "Releasing: waiting for Service x",
		},
		"ReleasedLater": {
			reason: "What was waited for before the release is not what it waits for.",
			bar: ready(phase(v1alpha1.PhaseProvisioning, "waiting for Service x"), func(b *v1alpha1.Bar) {
				b.Spec.Release, b.Status.Conditions[0].Reason = true, v1alpha1.ReasonTerminating
			}), state: "Releasing",
		},
		"Conflict": {reason: "So does one that no other name would meet.", refusal: refuse(v1alpha1.ReasonConflict, "rename"), state: "Conflict: rename"},
		"Refused":  {reason: "A refusal goes before the phase.", refusal: refuse(v1alpha1.ReasonOverLimit, "too many"), state: "OverLimit: too many"},
		"Kept":     {reason: "What stays still answers.", bar: ready(), refusal: refuse(v1alpha1.ReasonBarClassNotFound, "gone"), state: "BarClassNotFound: gone", address: "203.0.113.1,web.example.com"},
		"Long": {
			reason: "An annotation is no place for a book.",
			bar:    ready(phase(v1alpha1.PhaseFailed, strings.Repeat("x", 5000))), state: "Failed: " + strings.Repeat("x", 1021) + "…", address: "203.0.113.1,web.example.com",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			answer := answerFor(tc.bar, tc.refusal)
			if answer.State() != tc.state || answer.Address() != tc.address {
				t.Errorf("%s\ngot %q, %q", tc.reason, answer.State(), answer.Address())
			}
			if reason, message, refused := Refusal(answer.State()); refused != (tc.refusal != nil) || refused && reason+": "+message != tc.state {
				t.Errorf("read back as %q, %q, %v", reason, message, refused)
			}
		})
	}
	want := []corev1.LoadBalancerIngress{{IP: "203.0.113.1", IPMode: ptr.To(corev1.LoadBalancerIPModeProxy)}, {Hostname: "web.example.com"}}
	if diff := cmp.Diff(want, AnswerOf(ready()).ingress()); diff != "" {
		t.Errorf("ingress, -want +got\n%s", diff)
	}
}

func TestAnnouncements(t *testing.T) {
	cases := map[string]struct {
		reason        string
		before, after news
		want          string // reason of the Event
	}{
		"Begins":       {reason: "A load balancer is being made.", after: news{state: "Pending"}, want: eventEnsuring},
		"GoesOn":       {reason: "One Event is enough for it.", before: news{state: "Pending"}, after: news{state: "Provisioning: wait"}},
		"Ends":         {reason: "It is there.", before: news{state: "Provisioning"}, after: news{"Ready", "203.0.113.1"}, want: eventEnsured},
		"Moves":        {reason: "It has another address.", before: news{"Ready", "203.0.113.1"}, after: news{"Ready", "203.0.113.2"}, want: eventUpdated},
		"Forged":       {reason: "An address put right is an address that has changed.", before: news{"Ready", "x"}, after: news{"Ready", "203.0.113.1"}, want: eventUpdated},
		"Fails":        {reason: "Something is wrong.", before: news{state: "Provisioning"}, after: news{state: "Failed: in the way"}, want: eventFailed},
		"FailsAnew":    {reason: "Something else is wrong.", before: news{state: "Failed: a"}, after: news{state: "Failed: b"}, want: eventFailed},
		"Refused":      {reason: "A refusal is a failure.", after: news{state: "OverLimit: too many"}, want: eventFailed},
		"IsReleased":   {reason: "It is being taken away.", before: news{"Ready", "203.0.113.1"}, after: news{state: "Releasing"}, want: eventDeleting},
		"IsGone":       {reason: "It is away.", before: news{state: "Releasing"}, want: eventDeleted},
		"NothingMore":  {reason: "A refusal that is over without a load balancer is no news.", before: news{state: "OverLimit: too many"}},
		"ComesAgain":   {reason: "A change is another round.", before: news{state: "Ready"}, after: news{state: "Provisioning"}, want: eventEnsuring},
		"AddressLater": {reason: "The address alone is no news before it is ready.", before: news{state: "Provisioning"}, after: news{"Provisioning", "203.0.113.1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := announcementOf(tc.before, tc.after)
			if (got == nil) != (tc.want == "") || got != nil && got.reason != tc.want {
				t.Errorf("%s\ngot %+v", tc.reason, got)
			}
		})
	}
}
