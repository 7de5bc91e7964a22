package foo

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// The status of a Foo whose Tenant is leaving does not say for ever that it is managed, or that it
// is reached at an address.
func TestLeavingStatus(t *testing.T) {
	foo := &v1alpha1.Foo{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 3},
		Spec:       v1alpha1.FooSpec{Bar: &v1alpha1.FooBar{ClassName: "internal"}},
		Status:     v1alpha1.FooStatus{ObservedGeneration: 2, Address: "192.0.2.1", Replicas: 2, ReadyReplicas: 2},
	}
	for _, conditionType := range []string{v1alpha1.FooReady, v1alpha1.FooProgressing, v1alpha1.FooExposed} {
		meta.SetStatusCondition(&foo.Status.Conditions, metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: "Fine"})
	}
	status := leavingStatus(foo, "team-a")
	if status.Address != "" || status.ObservedGeneration != 3 || len(status.Conditions) != 3 {
		t.Errorf("got %+v", status)
	}
	for _, condition := range status.Conditions {
		if condition.Status != metav1.ConditionUnknown || condition.Reason != v1alpha1.ReasonTenantLeaving || condition.ObservedGeneration != 3 {
			t.Errorf("condition %+v", condition)
		}
	}
	foo.Status = status
	if diff := cmp.Diff(status, leavingStatus(foo, "team-a")); diff != "" {
		t.Errorf("written once, it would be written again: -first +second\n%s", diff)
	}
	foo.Spec.Bar = nil
	if status := leavingStatus(foo, "team-a"); meta.FindStatusCondition(status.Conditions, v1alpha1.FooExposed) != nil {
		t.Error("Exposed of a Foo that asks for no load balancer")
	}
}
