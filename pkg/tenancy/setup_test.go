package tenancy

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// A status write of one Tenant says nothing about the others: with all of them queued each time, a
// change would cost as many reconciles as there are Tenants, squared.
func TestStatusEvents(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	a, b, c := tenant("a"), tenant("b"), tenant("c")
	events := statusEvents(fake.NewClientBuilder().WithScheme(scheme).WithObjects(&a, &b, &c).Build(), system)
	changed, written := a, a
	changed.Generation++
	written.Status.ObservedGeneration++
	cases := map[string]struct {
		reason string
		send   func(Queue)
		want   int
	}{
		"Status": {reason: "Nothing but the status has changed.", want: 1, send: func(q Queue) {
			events.Update(t.Context(), event.TypedUpdateEvent[*v1alpha1.Tenant]{ObjectOld: &a, ObjectNew: &written}, q)
		}},
		"Spec": {reason: "A namespace that leaves a spec is another Tenant's.", want: 3, send: func(q Queue) {
			events.Update(t.Context(), event.TypedUpdateEvent[*v1alpha1.Tenant]{ObjectOld: &a, ObjectNew: &changed}, q)
		}},
		"New": {reason: "A new Tenant may name others' namespaces.", want: 3, send: func(q Queue) {
			events.Create(t.Context(), event.TypedCreateEvent[*v1alpha1.Tenant]{Object: &a}, q)
		}},
		"Initial": {reason: "At the start each has an event of its own.", want: 1, send: func(q Queue) {
			events.Create(t.Context(), event.TypedCreateEvent[*v1alpha1.Tenant]{Object: &a, IsInInitialList: true}, q)
		}},
		"Gone": {reason: "What it had is another one's.", want: 3, send: func(q Queue) {
			events.Delete(t.Context(), event.TypedDeleteEvent[*v1alpha1.Tenant]{Object: &a}, q)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer queue.ShutDown()
			tc.send(queue)
			if got := queue.Len(); got != tc.want {
				t.Errorf("%s\nqueued %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
