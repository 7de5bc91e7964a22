package foo

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
)

func TestDesireExposure(t *testing.T) {
	state := func(state string, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
		asks := func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{v1alpha1.BarStateAnnotation: state, v1alpha1.BarClassAnnotation: "internal"}
		}
		return rolledOut(1, append([]func(*appsv1.Deployment){asks}, changes...)...)
	}
	optedOut := func(d *appsv1.Deployment) { delete(d.Annotations, v1alpha1.BarClassAnnotation) }
	pending := func(b *v1alpha1.Bar) {
		b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.BarReleasePending, Status: metav1.ConditionTrue, Message: "will be released at 12:00"}}
	}
	refused := &retry.Refusal{Reason: v1alpha1.ReasonRefused, Message: "exceeded quota: limits"}
	conflict := &retry.Refusal{Reason: v1alpha1.ReasonConflict, Message: `Deployment "web" exists`}
	foreign := func(d *appsv1.Deployment) { d.OwnerReferences = nil }
	held := func(b *v1alpha1.Bar) {
		b.Spec.Release, b.Status.Phase = true, v1alpha1.PhaseReleasing
		b.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.BarReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTerminating, Message: "waiting for Service web-x, which is held by finalizer example.com/hold",
		}}
	}
	bar := func(changes ...func(*v1alpha1.Bar)) *v1alpha1.Bar {
		b := &v1alpha1.Bar{
			ObjectMeta: metav1.ObjectMeta{Generation: 1},
			Spec:       v1alpha1.BarSpec{ClassName: "internal", SourceRef: v1alpha1.BarSourceReference{UID: "uid-deployment"}},
			Status: v1alpha1.BarStatus{
				ObservedGeneration: 1, Phase: v1alpha1.PhaseReady,
				Addresses: []v1alpha1.BarAddress{{Type: v1alpha1.IPAddressType, Value: "203.0.113.1"}, {Type: v1alpha1.IPAddressType, Value: "2001:db8::1"}},
			},
		}
		for _, change := range changes {
			change(b)
		}
		return b
	}
	failed := func(b *v1alpha1.Bar) {
		b.Status.Phase = v1alpha1.PhaseFailed
		b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.BarReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonConflict, Message: "in the way"}}
	}
	cases := map[string]struct {
		reason     string
		deployment *appsv1.Deployment
		bar        *v1alpha1.Bar
		refusal    *retry.Refusal
		without    bool   // the Foo asks for none
		want       string // status/reason
		message    string // part of it
		exact      string // all of it, if set
		address    string
	}{
		"Exposed": {
			reason:     "A ready Bar of this Deployment is the one thing that counts.",
			deployment: state("Ready"), bar: bar(), want: "True/Exposed", message: "203.0.113.1,2001:db8::1", address: "203.0.113.1",
		},
		"NoBarYet": {reason: "Without a Bar one waits.", deployment: rolledOut(1), want: "False/BarPending", message: `BarClass "internal"`},
		"Refused": {
			reason:     "Why there is none, the Deployment says.",
			deployment: state("OverLimit: too many"), want: "False/OverLimit", message: "too many",
		},
		"RefusedMeanwhile": {
			reason:     "A typo leaves the load balancer as it was; that it is one must not be hidden.",
			deployment: state("InvalidPorts: none of 80"), bar: bar(), want: "False/InvalidPorts", message: "none of 80; meanwhile the load balancer", address: "203.0.113.1",
		},
		"Forged": {
			reason:     "What a tenant writes there makes no Foo exposed, and no invalid reason.",
			deployment: state("not a reason: x"), want: "False/BarPending", message: "waiting",
		},
		"ForgedReady": {reason: "Ready without a Bar is not ready.", deployment: state("Ready"), want: "False/BarPending"},
		"OfAnEarlierDeployment": {
			reason:     "A Bar of an earlier Deployment of the name is on its way out.",
			deployment: rolledOut(1), bar: bar(func(b *v1alpha1.Bar) { b.Spec.SourceRef.UID = "uid-old" }), want: "False/BarPending",
		},
		"OfAForeignDeployment": {
			reason:     "A load balancer of somebody else's Deployment is not the Foo's.",
			deployment: rolledOut(1, func(d *appsv1.Deployment) { d.OwnerReferences = nil }), bar: bar(), want: "False/BarPending",
		},
		"Released":    {reason: "What is being taken away is no address.", deployment: rolledOut(1), bar: bar(func(b *v1alpha1.Bar) { b.Spec.Release = true }), want: "False/BarPending"},
		"Failed":      {reason: "The Bar's own reason says more than that it failed.", deployment: state("Failed: in the way"), bar: bar(failed), want: "False/Conflict", message: "in the way", address: "203.0.113.1"},
		"SpecChanged": {reason: "A status of an earlier spec does not count; the address still answers.", deployment: rolledOut(1), bar: bar(func(b *v1alpha1.Bar) { b.Generation = 2 }), want: "False/BarPending", address: "203.0.113.1"},
		"DeploymentRefused": {
			reason:     "Without a Deployment nothing asks, so nobody may wait.",
			deployment: &appsv1.Deployment{}, refusal: refused, want: "False/Refused", message: "exceeded quota: limits",
		},
		"DeploymentInConflict": {
			reason: "Nor may anybody wait for what somebody else's Deployment asks for.",
			deployment: rolledOut(1, foreign, func(d *appsv1.Deployment) {
				d.Annotations = map[string]string{v1alpha1.BarStateAnnotation: "OverLimit: theirs"}
			}),
			bar: bar(), refusal: conflict, want: "False/Conflict", message: `cannot ask for a load balancer: Deployment "web" exists`,
		},
		"RequestRefused": {
			reason:     "A Deployment that did not take the request does not ask, either.",
			deployment: rolledOut(1), refusal: refused, want: "False/Refused", message: "exceeded quota: limits",
		},
		"OtherClassRefused": {
			reason: "The load balancer of the earlier class answers while the request for the next one is refused.",
			deployment: rolledOut(1, func(d *appsv1.Deployment) {
				d.Annotations = map[string]string{v1alpha1.BarStateAnnotation: "Ready", v1alpha1.BarClassAnnotation: "before"}
			}),
			bar:     bar(func(b *v1alpha1.Bar) { b.Spec.ClassName = "before" }),
			refusal: refused, want: "False/Refused", message: "exceeded quota", address: "203.0.113.1",
		},
		"OtherChildRefused": {
			reason:     "A refusal of another child is no obstacle.",
			deployment: state("Ready"), bar: bar(), refusal: refused, want: "True/Exposed", message: "answers at", address: "203.0.113.1",
		},
		"DeploymentHeld": {
			reason: "The Deployment that shall ask is made once the old one is gone.",
			deployment: rolledOut(1, func(d *appsv1.Deployment) {
				d.DeletionTimestamp, d.Finalizers = ptr.To(metav1.Now()), []string{"example.com/hold"}
			}),
			want: "False/Terminating", message: "held by the finalizers example.com/hold",
		},
		"EarlierBarHeld": {
			reason:     "The next load balancer waits for the earlier one, and that for somebody else.",
			deployment: rolledOut(1), bar: bar(held, func(b *v1alpha1.Bar) { b.Spec.SourceRef.UID = "uid-old" }),
			want: "False/Terminating", message: "Service web-x, which is held by finalizer example.com/hold",
		},
		"BarHeld": {
			reason:     "The same where the request went and came back.",
			deployment: rolledOut(1), bar: bar(held), want: "False/Terminating", message: "example.com/hold",
		},
		"BarHeldAndRefused": {
			reason:     "Why there will be none is more than why there is none yet.",
			deployment: state("ClassNotAllowed: no"), bar: bar(held), want: "False/ClassNotAllowed", message: "no",
		},
		"UnwantedBarHeld": {
			reason:     "Who takes the request back sees why the load balancer is still there.",
			deployment: rolledOut(1), bar: bar(held), without: true, want: "False/Terminating", message: "not wanted any more and is being released: waiting for Service web-x",
		},
		"UnwantedBar": {
			reason:     "The condition stays until the load balancer is gone.",
			deployment: rolledOut(1), bar: bar(func(b *v1alpha1.Bar) { b.Spec.Release = true }), without: true, want: "False/Terminating", message: "is being released",
		},
		"UnwantedBarGone": {reason: "Without spec.bar and a load balancer the condition is absent.", deployment: rolledOut(1), without: true},
		"UnwantedBarPending": {
			reason:     "During the grace period the load balancer answers, and the Foo says until when.",
			deployment: state("ReleasePending: x", optedOut), bar: bar(pending), without: true,
			want: "False/ReleasePending", message: "will be released at 12:00", address: "203.0.113.1",
		},
		"UnwantedBarReady": {
			reason:     "The address must not vanish before the claim controller has marked the Bar.",
			deployment: rolledOut(1), bar: bar(), without: true, want: "False/ReleasePending", message: "about to be released", address: "203.0.113.1",
		},
		"UnwantedBarOfAnEarlierDeployment": {
			reason:     "The load balancer of an earlier Deployment of the name is not the present one's.",
			deployment: rolledOut(1), bar: bar(pending, func(b *v1alpha1.Bar) { b.Spec.SourceRef.UID = "uid-old" }), without: true,
		},
		"UnwantedForeignPending": {reason: "Nor is one of somebody else's Deployment.", deployment: rolledOut(1, foreign), bar: bar(pending), without: true},
		"BarOfAnAnnotation":      {reason: "A load balancer that somebody asked for on the Deployment is not the Foo's.", deployment: state("Ready"), bar: bar(), without: true},
		"ClassNoLongerAllowed": {
			reason:     "What the Deployment says until when is said once.",
			deployment: state("ClassNotAllowed: will be released at 12:00"), bar: bar(pending),
			want: "False/ClassNotAllowed", exact: "will be released at 12:00; meanwhile the load balancer answers at 203.0.113.1,2001:db8::1", address: "203.0.113.1",
		},
		"UnwantedForeignHeld": {reason: "Nor is one of somebody else's Deployment.", deployment: rolledOut(1, foreign), bar: bar(held), without: true},
		"NoPodReady": {
			reason:     "The load balancer is there; that nothing serves is said.",
			deployment: rolledOut(1, func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 0 }), bar: bar(),
			want: "True/Exposed", message: "has the address 203.0.113.1,2001:db8::1, but nothing serves there: no Pod is ready", address: "203.0.113.1",
		},
		"NoPodWanted": {
			reason:     "Nor does anything serve where no Pod is wanted.",
			deployment: rolledOut(0), bar: bar(), want: "True/Exposed", message: "nothing serves there: no Pod is wanted", address: "203.0.113.1",
		},
		"ReleasePending": {
			reason:     "It answers, but not for long.",
			deployment: rolledOut(1), bar: bar(pending),
			want: "True/Exposed", message: "answers at 203.0.113.1,2001:db8::1; will be released at 12:00", address: "203.0.113.1",
		},
		"ClassMissing": {
			reason:     "While the class is missing the old load balancer stays.",
			deployment: state("BarClassNotFound: no such class"), bar: bar(func(b *v1alpha1.Bar) { b.Spec.ClassName = "before" }),
			want: "False/BarClassNotFound", message: "no such class", address: "203.0.113.1",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.bar == nil {
				tc.bar = &v1alpha1.Bar{}
			}
			foo := object(func(f *v1alpha1.Foo) { f.Spec.Bar = &v1alpha1.FooBar{ClassName: "internal"} })
			if tc.without {
				foo.Spec.Bar = nil
			}
			got := desireExposure(foo, tc.deployment, tc.bar, tc.refusal)
			if got == nil {
				if tc.want != "" {
					t.Errorf("%s\ngot none", tc.reason)
				}
				return
			}
			if is := string(got.condition.Status) + "/" + got.condition.Reason; is != tc.want || got.address != tc.address || !strings.Contains(got.condition.Message, tc.message) ||
				tc.exact != "" && got.condition.Message != tc.exact {
				t.Errorf("%s\ngot %s (%s), address %q", tc.reason, is, got.condition.Message, got.address)
			}
		})
	}
}
