package tenancy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

func TestDesiredStatus(t *testing.T) {
	now := metav1.NewTime(epoch.Add(time.Hour))
	served := State{State: v1alpha1.NamespaceEngaged, Reason: v1alpha1.ReasonEngaged}
	denied := State{State: v1alpha1.NamespaceRefused, Reason: v1alpha1.ReasonAccessDenied, Message: "no RoleBinding"}
	claimed := Refusal{Reason: v1alpha1.ReasonNamespaceClaimed, Message: "taken"}

	cases := map[string]struct {
		reason  string
		tenant  v1alpha1.Tenant
		states  map[string]State
		refused map[string]Refusal
		status  metav1.ConditionStatus
		want    string // reason of the condition
		message string // part of the condition's message
		listed  []string
	}{
		"AllServed": {
			reason: "Engaged is True only when every namespace is served.",
			tenant: tenant("a", namespaces("x", "y")), states: map[string]State{"x": served, "y": served},
			status: metav1.ConditionTrue, want: v1alpha1.ReasonEngaged, message: "every namespace is served",
			listed: []string{"x=Engaged/Engaged", "y=Engaged/Engaged"},
		},
		"SomeServed": {
			reason: "A part that is served is told apart from nothing, and the message names what is missing.",
			tenant: tenant("a", namespaces("x", "y")), states: map[string]State{"x": served, "y": denied},
			status: metav1.ConditionFalse, want: v1alpha1.ReasonPartlyEngaged, message: "y: no RoleBinding",
			listed: []string{"x=Engaged/Engaged", "y=Refused/AccessDenied"},
		},
		"NoneServed": {
			reason: "The reason is the namespace's own when none is served.",
			tenant: tenant("a", namespaces("x")), states: map[string]State{"x": denied},
			status: metav1.ConditionFalse, want: v1alpha1.ReasonAccessDenied, message: "x: no RoleBinding",
			listed: []string{"x=Refused/AccessDenied"},
		},
		"Claimed": {
			reason: "A refusal goes before a state: this replica may still serve it for another Tenant.",
			tenant: tenant("a", namespaces("x")), states: map[string]State{"x": served}, refused: map[string]Refusal{"x": claimed},
			status: metav1.ConditionFalse, want: v1alpha1.ReasonNamespaceClaimed, message: "x: taken",
			listed: []string{"x=Refused/NamespaceClaimed"},
		},
		"NotHeardOf": {
			reason: "A namespace that was just added to the spec is pending.",
			tenant: tenant("a", namespaces("x")),
			status: metav1.ConditionFalse, want: v1alpha1.ReasonCacheNotSynced,
			listed: []string{"x=Pending/CacheNotSynced"},
		},
		"LeftTheSpec": {
			reason: "What left the spec leaves the status.",
			tenant: tenant("a", namespaces("x"), recorded("gone", v1alpha1.NamespaceEngaged, v1alpha1.ReasonEngaged)), states: map[string]State{"x": served},
			status: metav1.ConditionTrue, want: v1alpha1.ReasonEngaged,
			listed: []string{"x=Engaged/Engaged"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			status := desiredStatus(&tc.tenant, tc.states, tc.refused, now)
			condition := meta.FindStatusCondition(status.Conditions, v1alpha1.TenantEngaged)
			if condition == nil || condition.Status != tc.status || condition.Reason != tc.want || !strings.Contains(condition.Message, tc.message) {
				t.Errorf("%s\ngot condition %+v", tc.reason, condition)
			}
			var got []string
			for _, n := range status.Namespaces {
				got = append(got, n.Name+"="+string(n.State)+"/"+n.Reason)
			}
			if diff := cmp.Diff(tc.listed, got); diff != "" {
				t.Errorf("%s\nnamespaces: -want +got\n%s", tc.reason, diff)
			}

			// Written once, it must not be written again.
			recordedTenant := tc.tenant.DeepCopy()
			recordedTenant.Status = status
			again := desiredStatus(recordedTenant, tc.states, tc.refused, metav1.NewTime(now.Add(time.Minute)))
			if diff := cmp.Diff(status, again); diff != "" {
				t.Errorf("not stable: -first +second\n%s", diff)
			}
		})
	}
}

func TestDesiredStatusKeepsSinceUntilTheStateChanges(t *testing.T) {
	now := metav1.NewTime(epoch.Add(time.Hour))
	a := tenant("a", namespaces("x"), recorded("x", v1alpha1.NamespaceRefused, v1alpha1.ReasonAccessDenied))
	denied := State{State: v1alpha1.NamespaceRefused, Reason: v1alpha1.ReasonAccessDenied, Message: "another message"}
	if got := desiredStatus(&a, map[string]State{"x": denied}, nil, now).Namespaces[0].Since; got != epoch {
		t.Errorf("same state: since %v, want %v", got, epoch)
	}
	served := State{State: v1alpha1.NamespaceEngaged, Reason: v1alpha1.ReasonEngaged}
	if got := desiredStatus(&a, map[string]State{"x": served}, nil, now).Namespaces[0].Since; got != now {
		t.Errorf("new state: since %v, want %v", got, now)
	}
}
