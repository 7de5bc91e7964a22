package bar

import (
	"sync"
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// withQueue gives a reconciler whose owners wake up through a queue.
func withQueue(t *testing.T) (*Reconciler, workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	r := newReconciler(server)
	r.owners.wakeThrough(queue)
	return r, queue
}

// Of two with the same host name the first keeps it, also over a restart; the other is told, and
// gets it when it is free.
func TestHostnameTaken(t *testing.T) {
	first := newBar(t, newNamespace(t, "host-first"), "shop", "shared")
	second := newBar(t, newNamespace(t, "host-second"), "shop", "shared")
	r, _ := withQueue(t)
	settle(t, r, second) // younger, and yet first
	settle(t, r, first)
	expect(t, second, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
	expect(t, first, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
	if len(routes(t, "host-first")) != 0 {
		t.Error("a route of a host name that is taken")
	}

	restarted, queue := withQueue(t)
	r = restarted
	settle(t, r, first)
	settle(t, r, second)
	expect(t, first, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
	expect(t, second, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)

	change(t, second, toClass("internal"))
	settle(t, r, second)
	if queue.Len() != 1 {
		t.Fatalf("%d are woken up, want the one that waits", queue.Len())
	}
	if request, _ := queue.Get(); request != requestFor(first) {
		t.Fatalf("woke up %s", request)
	}
	settle(t, r, first)
	expect(t, first, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)

	change(t, second, toClass("shared"))
	settle(t, r, second)
	expect(t, second, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
	if len(services(t, "host-second")) != 1 {
		t.Error("the load balancer of before was taken away although the new one cannot be made")
	}
	change(t, first, released)
	settle(t, r, first)
	settle(t, r, second)
	expect(t, second, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
}

// A TCPRoute has a listener for itself.
func TestListenerTaken(t *testing.T) {
	first := newBar(t, newNamespace(t, "listener-first"), "db", "tcp")
	second := newBar(t, newNamespace(t, "listener-second"), "db", "tcp")
	r, _ := withQueue(t)
	settle(t, r, first)
	settle(t, r, second)
	expect(t, first, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
	expect(t, second, v1alpha1.PhaseFailed, v1alpha1.ReasonListenerTaken)
	change(t, first, released)
	settle(t, r, first)
	change(t, second, released)
	settle(t, r, second)
}

// Twenty that ask for the same host name at the same time: one gets it.
func TestHostnameRace(t *testing.T) {
	const count = 20
	bars := make([]*v1alpha1.Bar, count)
	for i := range bars {
		bars[i] = newBar(t, newNamespace(t, "race-"+string(rune('a'+i))), "raced", "shared")
	}
	r, _ := withQueue(t)
	var all sync.WaitGroup
	for _, bar := range bars {
		all.Go(func() {
			for range 5 {
				if err := reconcileOnce(r, bar); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	made := 0
	for _, bar := range bars {
		made += len(routes(t, bar.Spec.SourceRef.Namespace))
	}
	if made != 1 {
		t.Errorf("%d routes of one host name", made)
	}
}
