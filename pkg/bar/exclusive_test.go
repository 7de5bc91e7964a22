package bar

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// behind is a cache that lists Bars without what their statuses have got lately.
type behind struct{ client.Reader }

func (b behind) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := b.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	if bars, ok := list.(*v1alpha1.BarList); ok {
		for i := range bars.Items {
			bars.Items[i].Status.Targets = nil
		}
	}
	return nil
}

// A new leader whose cache is behind does not take what it does not see for free.
func TestLeaderWithACacheThatIsBehind(t *testing.T) {
	owner := newBar(t, newNamespace(t, "behind"), "behind", "shared")
	settle(t, newReconciler(server), owner)
	route := routes(t, "behind")[0]
	if err := server.Delete(t.Context(), &route); err != nil { // the record alone counts here
		t.Fatal(err)
	}
	rival := newBar(t, newNamespace(t, "behind-rival"), "behind", "shared")
	r := newReconciler(server)
	r.Cache = behind{server}
	r.owners.sawBar(&v1alpha1.Bar{ObjectMeta: metav1.ObjectMeta{Name: owner.Name, UID: owner.UID, ResourceVersion: "1"}}) // the cache's event
	settle(t, r, rival)
	expect(t, rival, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)

	// What another Bar turns out to record after that list is learnt from its event.
	other := newBar(t, newNamespace(t, "behind-other"), "behind-2", "shared")
	late := other.DeepCopy()
	late.ResourceVersion += "0"
	late.Status.Targets = []v1alpha1.BarTarget{{Kind: "HTTPRoute", Name: "x", Holds: "hostname/behind-2.example.com", State: v1alpha1.TargetPlanned}}
	r.owners.sawBar(late)
	claimant := newBar(t, "behind-rival", "behind-2", "shared")
	settle(t, r, claimant)
	expect(t, claimant, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
}

// A route that no Bar made has its host name, too. The tenant that has the route is told its name,
// others are not.
func TestHostnameOfAForeignRoute(t *testing.T) {
	newNamespace(t, "by-hand")
	foreign := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"hostnames": []any{"by-hand.example.com", "*.example.com"}, "parentRefs": []any{map[string]any{"name": "other", "namespace": "infra"}},
	}}}
	foreign.SetGroupVersionKind(routeKind)
	foreign.SetNamespace("by-hand")
	foreign.SetName("own")
	if err := server.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	same := newBar(t, "by-hand", "by-hand", "shared")
	other := newBar(t, newNamespace(t, "by-hand-rival"), "by-hand", "shared")
	free := newBar(t, "by-hand", "by-hand-free", "shared")
	r, queue := withQueue(t)
	for _, bar := range []*v1alpha1.Bar{same, other, free} {
		settle(t, r, bar)
	}
	expect(t, same, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
	expect(t, other, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
	expect(t, free, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
	says := func(bar *v1alpha1.Bar) string {
		return meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady).Message
	}
	if want := "the host name by-hand.example.com is in use by HTTPRoute own of this namespace"; !strings.HasPrefix(says(same), want) {
		t.Errorf("the Bar says %q, want %q", says(same), want)
	}
	if strings.Contains(says(other), "own") {
		t.Errorf("another tenant is told: %q", says(other))
	}
	result, err := r.Reconcile(t.Context(), requestFor(other))
	if err != nil || result.RequeueAfter < refusedAtLeast {
		t.Errorf("result %+v, error %v", result, err)
	}
	for turn := 0; queue.Len() > 0; turn++ { // they must not wake up each other without end
		if turn == 100 {
			t.Fatal("Bars that wait for the same name wake up each other")
		}
		request, _ := queue.Get()
		queue.Done(request)
		if _, err := r.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}

	// A Bar that has the name keeps it when such a route appears later; while the namespace is lost
	// the route stays.
	if err := server.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	r.Namespaces = lost(time.Hour, "by-hand")
	settle(t, r, other)
	expect(t, other, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
	r.Namespaces = namespaces{}
	settle(t, r, same) // no event came, and yet it is seen to be gone
	expect(t, same, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
	foreign.SetResourceVersion("")
	if err := server.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	settle(t, newReconciler(server), same)
	expect(t, same, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
}

var routeKind = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}

// forge gives a Bar a route that serves, as a leader that did not know better made it.
func forge(t *testing.T, bar *v1alpha1.Bar) {
	t.Helper()
	class := &v1alpha1.BarClass{}
	if err := server.Get(t.Context(), client.ObjectKey{Name: bar.Spec.ClassName}, class); err != nil {
		t.Fatal(err)
	}
	objects, err := providers[v1alpha1.GatewayProvider].Desired(bar, class)
	if err != nil {
		t.Fatal(err)
	}
	route := newPart(bar, objects[len(objects)-1], routeKind)
	route.Object.SetOwnerReferences([]metav1.OwnerReference{controllerOf(bar)})
	if err := server.Create(t.Context(), route.Object); err != nil {
		t.Fatal(err)
	}
	route.live = route.Object
	bar.Status = recorded(bar)
	if err := server.Status().Update(t.Context(), bar); err != nil {
		t.Fatal(err)
	}
	targets := applied(planned(nil, []part{route}, class, metav1.Now()), &route, metav1.Now())
	bar.Status = provisioning(bar, serving(targets, []part{route}))
	bar.Status.Addresses = []v1alpha1.BarAddress{{Type: v1alpha1.HostnameAddressType, Value: bar.Spec.SourceRef.Name + ".example.com"}}
	if err := server.Status().Update(t.Context(), bar); err != nil {
		t.Fatal(err)
	}
}

// Where two Bars have one host name, the one with the older route keeps it and the other takes its
// own route away, whoever is reconciled first.
func TestTwoBarsWithOneHostname(t *testing.T) {
	for name, order := range map[string][]int{"older-first": {0, 1, 0, 1}, "younger-first": {1, 0, 1, 0}} {
		t.Run(name, func(t *testing.T) {
			host := "two-" + name
			younger := newBar(t, newNamespace(t, host+"-b"), host, "shared") // the Bar is the older one
			older := newBar(t, newNamespace(t, host+"-a"), host, "shared")
			forge(t, older)
			time.Sleep(1100 * time.Millisecond) // creation times are in seconds
			forge(t, younger)
			kept := routes(t, host+"-a")[0]

			r, _ := withQueue(t)
			for _, bar := range []*v1alpha1.Bar{older, younger} {
				r.owners.sawBar(bar) // as the events do
			}
			for _, i := range order {
				settle(t, r, []*v1alpha1.Bar{older, younger}[i])
			}
			expect(t, older, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
			expect(t, younger, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
			if got := routes(t, host+"-a"); len(got) != 1 || got[0].GetUID() != kept.GetUID() {
				t.Errorf("the owner's route: %v", got)
			}
			if got := routes(t, host+"-b"); len(got) != 0 || heldBy(younger)["hostname/"+host+".example.com"] != (hold{}) {
				t.Errorf("the other's route: %v, %+v", got, younger.Status.Targets)
			}
			if len(younger.Status.Addresses) != 0 {
				t.Errorf("the other one still has an address that is the owner's: %v", younger.Status.Addresses)
			}
		})
	}
}

// What was learnt later counts, in whichever order it arrives, and a Bar that is created again
// under its name is another one.
func TestOwnersOutOfOrder(t *testing.T) {
	bar := func(uid types.UID, version, holds string) *v1alpha1.Bar {
		b := &v1alpha1.Bar{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: uid, ResourceVersion: version}}
		if holds != "" {
			b.Status.Targets = []v1alpha1.BarTarget{{Kind: "HTTPRoute", Name: holds, Holds: holds}}
		}
		return b
	}
	steps := []struct {
		reason string
		do     func(*owners)
		want   string // the name that is held
	}{
		{"A status is learnt.", func(o *owners) { o.sawBar(bar("first", "10", "x")) }, "x"},
		{"An event of an earlier status comes late.", func(o *owners) { o.sawBar(bar("first", "9", "")) }, "x"},
		{"The same status again, as an event of one's own write.", func(o *owners) { o.sawBar(bar("first", "10", "x")) }, "x"},
		{"Versions are numbers, of any length.", func(o *owners) { o.sawBar(bar("first", "100", "y")) }, "y"},
		{"The Bar was deleted and created again.", func(o *owners) { o.sawBar(bar("second", "101", "z")) }, "z"},
		{"The deletion of the first one comes late.", func(o *owners) { o.deleted(bar("first", "99", "y")) }, "z"},
		{"The second one is deleted.", func(o *owners) { o.deleted(bar("second", "102", "z")) }, ""},
	}
	o := newOwners(system)
	for _, step := range steps {
		step.do(o)
		var got []string
		for name := range o.holders {
			got = append(got, name)
		}
		if strings.Join(got, " ") != step.want {
			t.Errorf("%s\nheld %q, want %q", step.reason, got, step.want)
		}
	}
}
