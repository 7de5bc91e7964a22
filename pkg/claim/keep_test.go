package claim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

func TestKeeps(t *testing.T) {
	tenant := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	wanted := wish{spec: &v1alpha1.BarSpec{}}
	bar := func(uid types.UID, tenant string) *v1alpha1.Bar {
		return &v1alpha1.Bar{Spec: v1alpha1.BarSpec{SourceRef: v1alpha1.BarSourceReference{UID: uid}, Tenant: tenant}}
	}
	cases := map[string]struct {
		reason string
		now    situation
		bar    *v1alpha1.Bar
		want   bool
	}{
		"Wanted":        {reason: "The source asks for it.", now: situation{source: deployment(), tenant: tenant, wish: wanted}, bar: bar("uid-web", "a"), want: true},
		"Gone":          {reason: "Nobody asks for it.", now: situation{tenant: tenant}, bar: bar("uid-web", "a")},
		"Recreated":     {reason: "It is another one's that had the same name.", now: situation{source: deployment(), tenant: tenant, wish: wanted}, bar: bar("uid-old", "a")},
		"OptedOut":      {reason: "The source no longer asks.", now: situation{source: deployment(), tenant: tenant}, bar: bar("uid-web", "a")},
		"OtherTenant":   {reason: "It counts against another one's limit.", now: situation{source: deployment(), tenant: tenant, wish: wanted}, bar: bar("uid-web", "b")},
		"NoTenant":      {reason: "The namespace is nobody's any more.", now: situation{source: deployment()}, bar: bar("uid-web", "a")},
		"Refused":       {reason: "It may not have one.", now: situation{source: deployment(), tenant: tenant, wish: wish{refusal: refuse("X", "x")}}, bar: bar("uid-web", "a")},
		"ClassMissing":  {reason: "A class that is gone takes nothing away.", now: situation{source: deployment(), tenant: tenant, wish: wish{refusal: &refusal{keep: true}}}, bar: bar("uid-web", "a"), want: true},
		"RecreatedThen": {reason: "But an earlier source's is not kept.", now: situation{source: deployment(), tenant: tenant, wish: wish{refusal: &refusal{keep: true}}}, bar: bar("uid-old", "a")},
	}
	for name, tc := range cases {
		if got := tc.now.keeps(tc.bar); got != tc.want {
			t.Errorf("%s: %s\ngot %v", name, tc.reason, got)
		}
	}
}

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
