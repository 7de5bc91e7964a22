package foo

import (
	"testing"

	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

func TestStartingReplicas(t *testing.T) {
	between := func(least *int32, most int32) *v1alpha1.Autoscaling {
		return &v1alpha1.Autoscaling{MinReplicas: least, MaxReplicas: most}
	}
	cases := map[string]struct {
		reason    string
		scaling   *v1alpha1.Autoscaling
		present   int32
		takesOver bool
		want      int32
	}{
		"FromZero":     {"An autoscaler does nothing at 0.", between(ptr.To[int32](2), 5), 0, true, 2},
		"FromOne":      {"What the API server defaults for a new Deployment is fewer than wanted.", between(ptr.To[int32](2), 5), 1, true, 2},
		"Between":      {"The autoscaler starts from the present number.", between(ptr.To[int32](2), 5), 4, true, 4},
		"FromTooMany":  {"More than wanted are not kept.", between(ptr.To[int32](2), 5), 9, true, 5},
		"NoMinimum":    {"The least is 1 when left out.", between(nil, 5), 0, true, 1},
		"StoppedLater": {"Somebody else's 0 would switch the autoscaler off.", between(ptr.To[int32](2), 5), 0, false, 2},
		"Scaled":       {"The number is the autoscaler's.", between(ptr.To[int32](2), 5), 3, false, 3},
		"BelowMinimum": {"After a change of the bounds the number is still the autoscaler's.", between(ptr.To[int32](2), 5), 1, false, 1},
		"AboveMaximum": {"In both directions.", between(ptr.To[int32](2), 5), 7, false, 7},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := startingReplicas(tc.scaling, tc.present, tc.takesOver); got != tc.want {
				t.Errorf("%s\ngot %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
