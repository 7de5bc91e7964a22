package bar

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// lost are namespaces that have been lost for so long.
func lost(since time.Duration, names ...string) namespaces {
	n := namespaces{lost: map[string]bool{}, since: since}
	for _, name := range names {
		n.lost[name] = true
	}
	return n
}

// deleteNamespace does what the namespace controller does once a namespace is empty. What is in it
// stays in the store.
func deleteNamespace(t *testing.T, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := server.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); err != nil {
		t.Fatal(err)
	}
	namespace.Spec.Finalizers = nil
	if err := server.SubResource("finalize").Update(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); !apierrors.IsNotFound(err) {
		t.Fatal("the namespace is still there", err)
	}
}

// A namespace that is lost for a moment changes nothing; one that is lost for longer makes its Bars
// say so, and nothing else.
func TestLossGrace(t *testing.T) {
	bar := newBar(t, newNamespace(t, "loss-grace"), "web", "internal")
	r := newReconciler(server)
	settle(t, r, bar)
	before := bar.DeepCopy()

	r.Namespaces = lost(lossGrace-10*time.Second, "loss-grace")
	result, err := r.Reconcile(t.Context(), requestFor(bar))
	reload(t, bar)
	if err != nil || result.RequeueAfter == 0 || result.RequeueAfter > 2*untilLooked || bar.ResourceVersion != before.ResourceVersion {
		t.Fatalf("within the grace period: %+v, %v, %+v", result, err, bar.Status)
	}
	r.Namespaces = lost(lossGrace+time.Second, "loss-grace")
	result, err = r.Reconcile(t.Context(), requestFor(bar))
	if err != nil || result.RequeueAfter < untilLookedAgain {
		t.Fatalf("after the grace period: %+v, %v", result, err)
	}
	expect(t, bar, v1alpha1.PhaseFailed, v1alpha1.ReasonNamespaceLost)
	ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady)
	if ready.Status != metav1.ConditionUnknown {
		t.Errorf("condition %+v", ready)
	}
	if again := namespaceLost(bar); !equality.Semantic.DeepEqual(again, bar.Status) {
		t.Errorf("the status changes although nothing does: %+v, then %+v", bar.Status, again)
	}
	for _, part := range []string{
		"cannot see namespace loss-grace", "Kept, because it may still be there and serve: Service " + bar.Status.Targets[0].Name, "an upgrade of the Helm release",
		"kubectl delete bar loss-grace-web -n controlee-system",
	} {
		if !strings.Contains(ready.Message, part) {
			t.Errorf("message %q lacks %q", ready.Message, part)
		}
	}
	if len(bar.Status.Targets) != 1 || bar.Status.Targets[0] != before.Status.Targets[0] || len(bar.Status.Addresses) != 1 {
		t.Errorf("not kept: %+v", bar.Status)
	}
	warnings := 0
	for recorder := r.Recorder.(*events.FakeRecorder); len(recorder.Events) > 0; { //nolint:forcetypeassert // see newReconciler
		if event := <-recorder.Events; strings.HasPrefix(event, "Warning NamespaceLost") {
			warnings++
		}
	}
	settle(t, r, bar)
	if warnings != 1 || len(r.Recorder.(*events.FakeRecorder).Events) != 0 { //nolint:forcetypeassert // as above
		t.Errorf("%d warnings, and %d events later", warnings, len(r.Recorder.(*events.FakeRecorder).Events)) //nolint:forcetypeassert // as above
	}

	// Another leader, which has just begun to count, leaves it as it is.
	r = newReconciler(server)
	r.Namespaces = lost(time.Second, "loss-grace")
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseFailed, v1alpha1.ReasonNamespaceLost)

	r.Namespaces = namespaces{}
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseReady, v1alpha1.ReasonProvisioned)
	if bar.Status.Targets[0].UID != before.Status.Targets[0].UID || bar.Status.Addresses[0] != before.Status.Addresses[0] {
		t.Errorf("made anew: %+v, before %+v", bar.Status, before.Status)
	}
}

// The host name of a lost namespace stays taken until the route is seen to be gone.
func TestLostNamespaceKeepsItsHostname(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*testing.T, *v1alpha1.Bar)
		phase  v1alpha1.BarPhase
	}{
		"Asked":    {"The Tenant was taken out of the values.", func(*testing.T, *v1alpha1.Bar) {}, v1alpha1.PhaseFailed},
		"Released": {"The source was deleted just before.", func(t *testing.T, bar *v1alpha1.Bar) { change(t, bar, released) }, v1alpha1.PhaseReleasing},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			id := "keeps-" + strings.ToLower(name)
			owner := newBar(t, newNamespace(t, id), id, "shared")
			rival := newBar(t, newNamespace(t, id+"-rival"), id, "shared")
			r, _ := withQueue(t)
			settle(t, r, owner)
			settle(t, r, rival)
			expect(t, rival, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
			route := routes(t, id)[0]

			tc.change(t, owner)
			for _, leader := range []string{"this", "next"} {
				r.Namespaces = lost(time.Hour, id)
				settle(t, r, owner)
				settle(t, r, rival)
				expect(t, owner, tc.phase, v1alpha1.ReasonNamespaceLost)
				expect(t, rival, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
				if len(routes(t, id+"-rival")) != 0 {
					t.Fatalf("%s leader gave the host name away while its route exists: %s", leader, tc.reason)
				}
				r, _ = withQueue(t)
			}
			if tc.phase == v1alpha1.PhaseFailed {
				settle(t, r, owner)
				expect(t, owner, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
				if got := routes(t, id); len(got) != 1 || got[0].GetUID() != route.GetUID() {
					t.Errorf("the route was made anew: %v", got)
				}
			}
			r.Namespaces = lost(0, id)
			deleteNamespace(t, id)
			settle(t, r, owner)
			if reload(t, owner) {
				if tc.phase == v1alpha1.PhaseReleasing || len(owner.Status.Targets) != 0 || len(owner.Status.Addresses) != 0 {
					t.Fatalf("the namespace is gone: %+v", owner.Status)
				}
			}
			settle(t, r, rival)
			expect(t, rival, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
		})
	}
}

// A Bar whose namespace may still come waits, whether it is released or not.
func TestNamespaceNotKnownYet(t *testing.T) {
	bar := newBar(t, newNamespace(t, "unserved"), "web", "internal")
	settle(t, newReconciler(server), bar)
	r := newReconciler(server)
	r.Namespaces = namespaces{unknown: map[string]bool{"unserved": true}}
	for _, step := range []func(*v1alpha1.BarSpec){func(*v1alpha1.BarSpec) {}, released} {
		change(t, bar, step)
		result, err := r.Reconcile(t.Context(), requestFor(bar))
		if err != nil || result.RequeueAfter == 0 || !reload(t, bar) || bar.Status.Phase != v1alpha1.PhaseReady {
			t.Errorf("result %+v, error %v, phase %s", result, err, bar.Status.Phase)
		}
	}
	r.Namespaces = lost(time.Hour, "unserved")
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseReleasing, v1alpha1.ReasonNamespaceLost)
	if len(services(t, "unserved")) != 1 {
		t.Error("the operator acted where it has no business")
	}
	r.Namespaces = namespaces{}
	settle(t, r, bar)
	if reload(t, bar) || len(services(t, "unserved")) != 0 {
		t.Errorf("served again, and not released: %+v", bar.Status)
	}
}

// An admin who deletes the Bar of a lost namespace lets go of its host name. That of any other Bar
// stays with its route.
func TestDeletedBar(t *testing.T) {
	owner := newBar(t, newNamespace(t, "forced"), "forced", "shared")
	rival := newBar(t, newNamespace(t, "forced-rival"), "forced", "shared")
	r, _ := withQueue(t)
	settle(t, r, owner)
	settle(t, r, rival)
	route := routes(t, "forced")[0]
	remove := func() {
		t.Helper()
		reload(t, owner)
		if err := server.Delete(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		r.barDeleted(owner) // as the event does
		settle(t, r, rival)
	}
	remove()
	expect(t, rival, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
	owner = newBar(t, "forced", "forced", "shared") // as the claim controller does
	settle(t, r, rival)
	settle(t, r, owner)
	settle(t, r, rival)
	expect(t, owner, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
	expect(t, rival, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
	if got := routes(t, "forced"); len(got) != 1 || got[0].GetUID() != route.GetUID() {
		t.Errorf("the route was made anew: %v", got)
	}

	r.Namespaces = lost(time.Hour, "forced")
	settle(t, r, owner)
	expect(t, owner, v1alpha1.PhaseFailed, v1alpha1.ReasonNamespaceLost)
	settle(t, r, rival)
	expect(t, rival, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
	remove()
	expect(t, rival, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
}

// Before it is known which names are in use, none is granted; what a Bar has already goes on.
func TestGrantsWaitForTheCaches(t *testing.T) {
	bar := newBar(t, newNamespace(t, "unsynced"), "unsynced", "shared")
	r := newReconciler(server)
	r.Namespaces = namespaces{unsynced: errors.New("not yet")}
	for range 3 {
		result, err := r.Reconcile(t.Context(), requestFor(bar))
		if err != nil || result.RequeueAfter == 0 || result.RequeueAfter > 2*untilSynced {
			t.Fatalf("result %+v, error %v", result, err)
		}
	}
	expect(t, bar, v1alpha1.PhasePending, v1alpha1.ReasonRecorded)
	if len(routes(t, "unsynced")) != 0 {
		t.Error("a route was made")
	}
	r.Namespaces = namespaces{}
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
	r = newReconciler(server)
	r.Namespaces = namespaces{unsynced: errors.New("not yet")}
	playGateway(t, "unsynced", "True", "Accepted", "")
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseReady, v1alpha1.ReasonProvisioned)
}
