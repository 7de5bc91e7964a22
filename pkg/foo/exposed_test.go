package foo

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

func TestDesireExposure(t *testing.T) {
	state := func(state string) *appsv1.Deployment {
		return rolledOut(1, func(d *appsv1.Deployment) { d.Annotations = map[string]string{v1alpha1.BarStateAnnotation: state} })
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
		want       string // status/reason
		message    string // part of it
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
			got := desireExposure(foo, tc.deployment, tc.bar)
			if is := string(got.condition.Status) + "/" + got.condition.Reason; is != tc.want || got.address != tc.address || !strings.Contains(got.condition.Message, tc.message) {
				t.Errorf("%s\ngot %s (%s), address %q", tc.reason, is, got.condition.Message, got.address)
			}
		})
	}
}
