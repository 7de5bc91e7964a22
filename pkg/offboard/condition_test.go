package offboard

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

func TestDesiredStatus(t *testing.T) {
	many := make([]string, 25)
	for i := range many {
		many[i] = fmt.Sprintf("Bar bar-%02d", 24-i)
	}
	cases := map[string]struct {
		reason  string
		leaving bool
		left    []string
		want    string // status and reason; empty: no condition
		says    []string
	}{
		"Staying":  {reason: "Without spec.leaving there is no condition, so that nobody waits for a release that was called off."},
		"Released": {reason: "Nothing is left.", leaving: true, want: "True/Released", says: []string{"the tenant can be removed"}},
		"Few":      {reason: "What is left is listed.", leaving: true, left: []string{"b (held)", "a"}, want: "False/StillReleasing", says: []string{"left: a; b (held)"}},
		"Many":     {reason: "The first ten and a number.", leaving: true, left: many, want: "False/StillReleasing", says: []string{"Bar bar-00; ", "Bar bar-09; and 15 more"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tenant := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Generation: 4}, Spec: v1alpha1.TenantSpec{Leaving: tc.leaving}}
			meta.SetStatusCondition(&tenant.Status.Conditions, metav1.Condition{Type: v1alpha1.TenantEngaged, Status: metav1.ConditionTrue, Reason: "x"})
			meta.SetStatusCondition(&tenant.Status.Conditions, metav1.Condition{Type: v1alpha1.TenantReleased, Status: metav1.ConditionFalse, Reason: "x"})
			status := desiredStatus(tenant, tc.left)
			if meta.FindStatusCondition(status.Conditions, v1alpha1.TenantEngaged) == nil {
				t.Error("the other conditions are lost")
			}
			released := meta.FindStatusCondition(status.Conditions, v1alpha1.TenantReleased)
			if released == nil {
				if tc.want != "" {
					t.Error("no condition")
				}
				return
			}
			if string(released.Status)+"/"+released.Reason != tc.want || released.ObservedGeneration != 4 {
				t.Errorf("%s\ngot %+v", tc.reason, released)
			}
			for _, want := range tc.says {
				if !strings.Contains(released.Message, want) {
					t.Errorf("%s\n%q is not in %q", tc.reason, want, released.Message)
				}
			}
		})
	}
}
