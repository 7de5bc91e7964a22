package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// orphanTime is how long an object may be without a Bar: a sweep, and the time until somebody leads
// who sweeps.
const orphanTime = 20 * time.Second

// guard looks all the time whether what must always hold does.
type guard struct {
	mu       sync.Mutex
	expected map[types.UID]possession // objects that must be there
	said     sets.Set[string]         // what does not hold and was noted
	without  map[types.UID]time.Time  // objects without a Bar, since when
	excused  sets.Set[string]         // namespaces that nobody can clean up now
	broken   []string
	looks    int
}

// possession says for which source an object exists, and the UID of the Bar that records it.
type possession struct {
	source client.ObjectKey
	bar    types.UID
}

func newGuard() *guard {
	return &guard{expected: map[types.UID]possession{}, without: map[types.UID]time.Time{}, excused: sets.New[string](), said: sets.New[string]()}
}

// run looks until the context is done.
func (g *guard) run(ctx context.Context) {
	for ctx.Err() == nil {
		g.look(ctx)
		time.Sleep(50 * time.Millisecond)
	}
}

// expect adds to what must be there. An object stays in the set until somebody asks for a change of
// it, whatever its Bar says meanwhile.
func (g *guard) expect(given map[types.UID]possession, excused ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.Copy(g.expected, given) // a Bar that was deleted by force has another UID now
	g.excused = sets.New(excused...)
}

// forget takes sources out of what must be there, before something is asked that may change their
// load balancers. Without a name it is all of a namespace.
func (g *guard) forget(keys ...client.ObjectKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, key := range keys {
		for uid, its := range g.expected {
			if its.source == key || key.Name == "" && its.source.Namespace == key.Namespace {
				delete(g.expected, uid)
			}
		}
	}
}

// pause begins the time of orphans anew: nobody leads for a while.
func (g *guard) pause() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.without = map[types.UID]time.Time{}
}

func (g *guard) look(ctx context.Context) {
	g.mu.Lock() // what is expected does not change while it is compared
	defer g.mu.Unlock()
	routes := &unstructured.UnstructuredList{}
	routes.SetAPIVersion("gateway.networking.k8s.io/v1")
	routes.SetKind("HTTPRouteList")
	services, bars := &corev1.ServiceList{}, &v1alpha1.BarList{}
	// Bars last: one that is made with its objects in between is there.
	if admin.List(ctx, routes, client.HasLabels{v1alpha1.BarLabel}) != nil || admin.List(ctx, services, client.HasLabels{v1alpha1.BarLabel}) != nil ||
		admin.List(ctx, bars, client.InNamespace(systemNamespace)) != nil {
		return
	}
	g.looks++
	objects := map[types.UID]client.Object{}
	for i := range routes.Items {
		objects[routes.Items[i].GetUID()] = &routes.Items[i]
	}
	for i := range services.Items {
		objects[services.Items[i].UID] = &services.Items[i]
	}
	g.lookForRivals(routes.Items)
	g.lookForLosses(objects, bars.Items)
	g.lookForOrphans(objects, bars.Items)
}

// lookForRivals looks for host names with more than one route.
func (g *guard) lookForRivals(routes []unstructured.Unstructured) {
	hosts := map[string]string{}
	for i := range routes {
		names, _, _ := unstructured.NestedStringSlice(routes[i].Object, "spec", "hostnames")
		for _, name := range names {
			where := routes[i].GetNamespace() + "/" + routes[i].GetName()
			if other, taken := hosts[name]; taken {
				g.breaks("host name %s has two routes, %s and %s", name, other, where)
			}
			hosts[name] = where
		}
	}
}

// lookForLosses looks for expected objects that are gone, or that their Bars no longer record.
func (g *guard) lookForLosses(objects map[types.UID]client.Object, bars []v1alpha1.Bar) {
	recorded, existing := sets.New[types.UID](), sets.New[types.UID]()
	for i := range bars {
		existing.Insert(bars[i].UID)
		for _, target := range bars[i].Status.Targets {
			recorded.Insert(target.UID)
		}
	}
	for uid, its := range g.expected {
		switch object := objects[uid]; {
		case object == nil || object.GetDeletionTimestamp() != nil:
			g.breaks("the load balancer of %s is gone, or going, although nobody asked for that", its.source)
			delete(g.expected, uid)
		case existing.Has(its.bar) && !recorded.Has(uid):
			g.breaks("the Bar of %s no longer records its load balancer, %s", its.source, object.GetName())
			delete(g.expected, uid)
		}
	}
}

// lookForOrphans looks for objects that no Bar holds for longer than orphanTime.
func (g *guard) lookForOrphans(objects map[types.UID]client.Object, bars []v1alpha1.Bar) {
	maps.DeleteFunc(g.without, func(uid types.UID, _ time.Time) bool { return objects[uid] == nil })
	for uid, object := range objects {
		if isHeld(object, bars) || g.excused.Has(object.GetNamespace()) {
			delete(g.without, uid)
			continue
		}
		since, known := g.without[uid]
		if !known {
			g.without[uid] = time.Now()
		} else if time.Since(since) > orphanTime {
			g.breaks("%s/%s is without a Bar since %s", object.GetNamespace(), object.GetName(), since.Format("15:04:05.000"))
			delete(g.without, uid)
		}
	}
}

// unheld returns how many objects no Bar held at the last look.
func (g *guard) unheld() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.without)
}

// isHeld returns whether the Bar that an object's label names records the object, or may do so
// soon.
func isHeld(object client.Object, bars []v1alpha1.Bar) bool {
	index := slices.IndexFunc(bars, func(bar v1alpha1.Bar) bool { return bar.Name == object.GetLabels()[v1alpha1.BarLabel] })
	if index < 0 {
		return false
	}
	bar := &bars[index]
	ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady)
	// A Bar is at rest when its controller has nothing left to do about the present spec.
	atRest := !bar.Spec.Release && bar.Status.ObservedGeneration == bar.Generation && ready != nil &&
		(ready.Reason == v1alpha1.ReasonRoutePending || bar.Status.Phase == v1alpha1.PhaseReady || bar.Status.Phase == v1alpha1.PhaseFailed) &&
		ready.Reason != v1alpha1.ReasonNamespaceLost
	return !atRest || slices.ContainsFunc(bar.Status.Targets, func(target v1alpha1.BarTarget) bool {
		return target.Namespace == object.GetNamespace() && target.Name == object.GetName()
	})
}

// breaks notes what does not hold. The caller holds the lock.
func (g *guard) breaks(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(g.broken) < 20 && !g.said.Has(text) {
		g.said.Insert(text)
		g.broken = append(g.broken, time.Now().Format("15:04:05.000 ")+text)
	}
}

// found returns what did not hold, and how often was looked.
func (g *guard) found() ([]string, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broken, g.looks
}
