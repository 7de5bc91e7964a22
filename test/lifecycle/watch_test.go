package lifecycle

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// orphanTime is how long an object may be without a Bar: a sweep, and the time until somebody leads who sweeps.
const orphanTime = 20 * time.Second

// guard looks all the time whether what must always hold does.
type guard struct {
	mu       sync.Mutex
	expected map[types.UID]client.ObjectKey // objects that must be there, with their sources
	said     sets.Set[string]               // what does not hold and was noted
	without  map[types.UID]time.Time        // objects without a Bar, since when
	excused  sets.Set[string]               // namespaces that nobody can clean up now
	broken   []string
	looks    int
}

func newGuard() *guard {
	return &guard{expected: map[types.UID]client.ObjectKey{}, without: map[types.UID]time.Time{}, excused: sets.New[string](), said: sets.New[string]()}
}

// run looks until the context is done.
func (g *guard) run(ctx context.Context) {
	for ctx.Err() == nil {
		g.look(ctx)
		time.Sleep(50 * time.Millisecond)
	}
}

// expect replaces what must be there.
func (g *guard) expect(given map[client.ObjectKey]types.UID, excused ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expected = map[types.UID]client.ObjectKey{}
	for key, uid := range given {
		g.expected[uid] = key
	}
	g.excused = sets.New(excused...)
	if len(excused) > 0 {
		g.without = map[types.UID]time.Time{}
	}
}

// forget takes sources out of what must be there, before something is asked that may change their load balancers. Without a name it is
// all of a namespace.
func (g *guard) forget(keys ...client.ObjectKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, key := range keys {
		for uid, source := range g.expected {
			if source == key || key.Name == "" && source.Namespace == key.Namespace {
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
	hosts := map[string]string{}
	for i := range routes.Items {
		route := &routes.Items[i]
		objects[route.GetUID()] = route
		names, _, _ := unstructured.NestedStringSlice(route.Object, "spec", "hostnames")
		for _, name := range names {
			where := route.GetNamespace() + "/" + route.GetName()
			if other, taken := hosts[name]; taken {
				g.breaks("host name %s has two routes, %s and %s", name, other, where)
			}
			hosts[name] = where
		}
	}
	for i := range services.Items {
		objects[services.Items[i].UID] = &services.Items[i]
	}
	for uid, source := range g.expected {
		if object := objects[uid]; object == nil || object.GetDeletionTimestamp() != nil {
			g.breaks("the load balancer of %s is gone, or going, although nobody asked for that", source)
			delete(g.expected, uid)
		}
	}
	g.lookForOrphans(objects, bars)
}

func (g *guard) lookForOrphans(objects map[types.UID]client.Object, bars *v1alpha1.BarList) {
	named := sets.New[string]()
	for i := range bars.Items {
		named.Insert(bars.Items[i].Name)
	}
	for uid, object := range objects {
		if named.Has(object.GetLabels()[v1alpha1.BarLabel]) || g.excused.Has(object.GetNamespace()) {
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
