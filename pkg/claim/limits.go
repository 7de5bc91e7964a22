package claim

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// byTenant is the name of the cache's index of Bars by their tenant.
const byTenant = "spec.tenant"

// cacheLag is how long a Bar that was made counts although the cache does not have it. It is there within milliseconds, unless it was
// deleted before the cache heard of it.
const cacheLag = time.Minute

// limits keeps the number of each tenant's Bars at its limit. It counts what the cache has and, since the cache lags behind, what
// was made a moment ago; and it remembers the sources that wait for room, so that the oldest is served first.
type limits struct {
	cached          client.Reader // Bars, with the index byTenant
	direct          client.Reader
	systemNamespace string

	mu      sync.Mutex
	tallies map[string]*tally // by tenant
	waiting map[v1alpha1.BarSourceReference]string
	queues  map[v1alpha1.BarSourceKind]tenancy.Queue
}

// tally is what limits knows of one tenant.
type tally struct {
	mu      sync.Mutex
	primed  bool
	made    map[string]made // by the Bar's name; the cache may not have them yet
	waiting map[v1alpha1.BarSourceReference]time.Time
}

// made is a Bar that was made, or, without UID, is being made.
type made struct {
	uid types.UID
	at  time.Time
}

func newLimits(cached, direct client.Reader, systemNamespace string) *limits {
	return &limits{
		cached: cached, direct: direct, systemNamespace: systemNamespace,
		tallies: map[string]*tally{},
		waiting: map[v1alpha1.BarSourceReference]string{},
		queues:  map[v1alpha1.BarSourceKind]tenancy.Queue{},
	}
}

// attach says where sources of a kind are told that there is room.
func (l *limits) attach(kind v1alpha1.BarSourceKind, queue tenancy.Queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queues[kind] = queue
}

func (l *limits) of(tenant string) *tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.tallies[tenant]
	if !ok {
		t = &tally{made: map[string]made{}, waiting: map[v1alpha1.BarSourceReference]time.Time{}}
		l.tallies[tenant] = t
	}
	return t
}

// reserve takes a place for the Bar of a source, if the tenant has one; else the source waits. Whoever got a place says with settle
// what became of it.
func (l *limits) reserve(ctx context.Context, tenant *v1alpha1.Tenant, w waiter, bar string) (bool, error) {
	l.leave(w.source, tenant.Name)
	t := l.of(tenant.Name)
	t.mu.Lock()
	defer t.mu.Unlock()
	if limit := tenant.Spec.MaxBars; limit != nil {
		count, err := l.count(ctx, tenant.Name, t)
		if err != nil {
			return false, err
		}
		if count+t.before(w) >= int(*limit) {
			t.waiting[w.source] = w.created
			l.note(w.source, tenant.Name)
			return false, nil
		}
	}
	t.made[bar] = made{at: time.Now()}
	if _, waited := t.waiting[w.source]; waited {
		delete(t.waiting, w.source)
		l.note(w.source, "")
		l.wake(t) // there may be room for one more
	}
	return true, nil
}

// settle says what became of a place: the Bar was made, or, without UID, was not.
func (l *limits) settle(tenant, bar string, uid types.UID) {
	t := l.of(tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	if uid == "" {
		delete(t.made, bar)
		l.wake(t)
		return
	}
	t.made[bar] = made{uid: uid, at: time.Now()}
}

// saw says that the cache knows of a Bar, or that it is gone.
func (l *limits) saw(bar *v1alpha1.Bar, gone bool) {
	t := l.of(bar.Spec.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made[bar.Name].uid == bar.UID {
		delete(t.made, bar.Name)
	}
	if gone {
		l.wake(t)
	}
}

// forget says that a source waits no longer.
func (l *limits) forget(source v1alpha1.BarSourceReference) { l.leave(source, "") }

// leave takes a source out of the line of any tenant but one: its namespace may have gone over from another tenant, whose room it waited for.
func (l *limits) leave(source v1alpha1.BarSourceReference, but string) {
	l.mu.Lock()
	tenant, ok := l.waiting[source]
	if !ok || tenant == but {
		l.mu.Unlock()
		return
	}
	delete(l.waiting, source)
	l.mu.Unlock()
	t := l.of(tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, source)
	l.wake(t) // the place that was kept for it
}

// waits says whether a source waits for room.
func (l *limits) waits(source v1alpha1.BarSourceReference) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.waiting[source]
	return ok
}

// note records for which tenant's room a source waits. The caller holds the tally's lock.
func (l *limits) note(source v1alpha1.BarSourceReference, tenant string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if tenant == "" {
		delete(l.waiting, source)
	} else {
		l.waiting[source] = tenant
	}
}

// count counts the Bars of a tenant. The caller holds the tally's lock.
func (l *limits) count(ctx context.Context, tenant string, t *tally) (int, error) {
	bars := &v1alpha1.BarList{}
	if err := l.cached.List(ctx, bars, client.InNamespace(l.systemNamespace), client.MatchingFields{byTenant: tenant}, client.UnsafeDisableDeepCopy); err != nil {
		return 0, err
	}
	if !t.primed {
		if err := l.prime(ctx, tenant, t); err != nil {
			return 0, err
		}
	}
	cached := make(map[string]bool, len(bars.Items))
	for i := range bars.Items {
		cached[bars.Items[i].Name] = true
	}
	count := len(cached)
	for name, m := range t.made {
		switch {
		case cached[name]: // counted; the entry goes when the cache tells of this very Bar
		case m.uid != "" && time.Since(m.at) > cacheLag:
			delete(t.made, name)
		default:
			count++
		}
	}
	return count, nil
}

// prime records the Bars that a leader before this one may have made a moment ago.
func (l *limits) prime(ctx context.Context, tenant string, t *tally) error {
	bars := &metav1.PartialObjectMetadataList{}
	bars.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BarList"))
	if err := l.direct.List(ctx, bars, client.InNamespace(l.systemNamespace), client.MatchingLabels{v1alpha1.TenantLabel: tenant}); err != nil {
		return err
	}
	for i := range bars.Items {
		bar := &bars.Items[i]
		if _, known := t.made[bar.Name]; !known {
			t.made[bar.Name] = made{uid: bar.UID, at: time.Now()}
		}
	}
	t.primed = true
	return nil
}

// before counts the sources that have waited for longer, by age: the room is theirs.
func (t *tally) before(w waiter) (n int) {
	for source, created := range t.waiting {
		if source != w.source && compareWaiters(waiter{source, created}, w) < 0 {
			n++
		}
	}
	return n
}

// wake tells the oldest source that waits to look again. The caller holds the tally's lock.
func (l *limits) wake(t *tally) {
	var oldest *waiter
	for source, created := range t.waiting {
		if w := (waiter{source, created}); oldest == nil || compareWaiters(w, *oldest) < 0 {
			oldest = &w
		}
	}
	if oldest == nil {
		return
	}
	l.mu.Lock()
	queue := l.queues[oldest.source.Kind]
	l.mu.Unlock()
	if queue != nil {
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: oldest.source.Namespace, Name: oldest.source.Name}})
	}
}

// compareWaiters orders sources by age, and those of one second by name.
func compareWaiters(a, b waiter) int {
	if c := a.created.Compare(b.created); c != 0 {
		return c
	}
	return slices.CompareFunc(sortKey(a), sortKey(b), strings.Compare)
}

func sortKey(w waiter) []string {
	return []string{w.source.Namespace, w.source.Name, string(w.source.Kind)}
}
