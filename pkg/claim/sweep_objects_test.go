package claim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

func TestMayHave(t *testing.T) {
	object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web-1"}}
	listed := func(b *v1alpha1.Bar) {
		b.Status.Targets = []v1alpha1.BarTarget{{Kind: "Service", Namespace: "team-a", Name: "web-1"}}
	}
	cases := map[string]struct {
		reason string
		bar    *v1alpha1.Bar
		want   bool
	}{
		"Listed": {reason: "It is one of the Bar's.", bar: ready(listed), want: true},
		"OtherKind": {
			reason: "A route of the same name is another object.",
			bar:    ready(listed, func(b *v1alpha1.Bar) { b.Status.Targets[0].Kind = "HTTPRoute" }),
		},
		"NotListed":    {reason: "A settled Bar knows all that is its own.", bar: ready()},
		"Failed":       {reason: "So does one that failed.", bar: ready(func(b *v1alpha1.Bar) { b.Status.Phase = v1alpha1.PhaseFailed })},
		"New":          {reason: "Its controller may be about to take it over.", bar: &v1alpha1.Bar{}, want: true},
		"Provisioning": {reason: "Its controller may be about to plan it.", bar: ready(func(b *v1alpha1.Bar) { b.Status.Phase = v1alpha1.PhaseProvisioning }), want: true},
		"Changed":      {reason: "Its controller has not seen the change.", bar: ready(func(b *v1alpha1.Bar) { b.Generation = 3 }), want: true},
		"Released":     {reason: "Its controller is taking it away.", bar: ready(func(b *v1alpha1.Bar) { b.Spec.Release = true }), want: true},
	}
	for name, tc := range cases {
		if got := mayHave(tc.bar, "Service", object); got != tc.want {
			t.Errorf("%s: %s\ngot %v", name, tc.reason, got)
		}
	}
}
