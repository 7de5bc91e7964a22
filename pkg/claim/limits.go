package claim

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// Names of the cache's indices of Bars: by their tenant, and by the namespace of their source.
const (
	byTenant    = "spec.tenant"
	byNamespace = "spec.sourceRef.namespace"
)

// cacheLag is how long a reservation counts although the cache does not have its Bar. The Bar is
// there within milliseconds, unless it was deleted before the cache heard of it.
const cacheLag = time.Minute

// limits keeps the number of each tenant's Bars at its limit. It counts the Bars in the cache and,
// because the cache lags behind, the reservations. Sources for which there is no room are on the
// wait list of their tenant; the oldest is served first.
//
// mu is never held over a request: the events of all tenants' Bars need it.
type limits struct {
	cached          client.Reader // Bars, with the indices byTenant and byNamespace
	direct          client.Reader
	namespaces      servedNamespaces
	systemNamespace string
	clock           clock.PassiveClock
	listing         chan struct{} // held by the one reserve that lists the Bars live

	mu           sync.Mutex
	listed       bool               // whether the Bars have been listed live
	deleted      map[types.UID]bool // Bars whose deletion was seen while a live list runs; nil while none runs
	reservations map[string]reservation
	waiting      map[string]map[v1alpha1.BarSourceReference]time.Time // the wait lists, by tenant
	queues       map[v1alpha1.BarSourceKind]tenancy.Queue
}

// servedNamespaces knows for which Tenant a namespace is served.
type servedNamespaces interface {
	// Lookup returns a namespace that is served now.
	Lookup(name string) (*tenancy.Namespace, bool)
	// Served returns all namespaces that are served now.
	Served() []*tenancy.Namespace
}

// reservation is the room for a Bar that the cache may not have yet: a Bar that was made or,
// without UID, is being made. Reservations are kept by the name of the Bar.
type reservation struct {
	tenant string
	uid    types.UID
	at     time.Time
}

func newLimits(cached, direct client.Reader, namespaces servedNamespaces, systemNamespace string, c clock.PassiveClock) *limits {
	return &limits{
		cached: cached, direct: direct, namespaces: namespaces, systemNamespace: systemNamespace, clock: c,
		listing:      make(chan struct{}, 1),
		reservations: map[string]reservation{},
		waiting:      map[string]map[v1alpha1.BarSourceReference]time.Time{},
		queues:       map[v1alpha1.BarSourceKind]tenancy.Queue{},
	}
}

// attach sets the queue in which sources of a kind are put when there is room for them.
func (l *limits) attach(kind v1alpha1.BarSourceKind, queue tenancy.Queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queues[kind] = queue
}

// reserve makes a reservation for the Bar of a source, if its tenant has room; else it puts the
// source on the wait list. The caller reports with settle what became of the reservation.
func (l *limits) reserve(ctx context.Context, tenant *v1alpha1.Tenant, w waiter, bar string) (bool, error) {
	limit := tenant.Spec.MaxBars
	if limit != nil {
		if err := l.list(ctx); err != nil {
			return false, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// The namespace of the source may have been another tenant's, for whose room the source waited.
	l.remove(w.source, func(other string) bool { return other != tenant.Name })
	if limit != nil {
		count, err := l.count(ctx, tenant.Name)
		if err != nil {
			return false, err
		}
		if count+l.before(tenant.Name, w) >= int(*limit) {
			if l.waiting[tenant.Name] == nil {
				l.waiting[tenant.Name] = map[v1alpha1.BarSourceReference]time.Time{}
			}
			l.waiting[tenant.Name][w.source] = w.created
			return false, nil
		}
	}
	l.reservations[bar] = reservation{tenant: tenant.Name, at: l.clock.Now()}
	l.remove(w.source, func(string) bool { return true }) // wakes the next one: there may be more room
	return true, nil
}

// settle ends a reservation: the Bar was made or, without UID, was not.
func (l *limits) settle(tenant, bar string, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if uid == "" {
		delete(l.reservations, bar)
		l.wake(tenant)
		return
	}
	l.reservations[bar] = reservation{tenant: tenant, uid: uid, at: l.clock.Now()}
}

// observe takes in an event of the cache of Bars: before is nil for a Bar that was created, after
// for one that was deleted.
func (l *limits) observe(before, after *v1alpha1.Bar) {
	l.mu.Lock()
	defer l.mu.Unlock()
	bar := after
	if after == nil {
		bar = before
	}
	if l.reservations[bar.Name].uid == bar.UID {
		delete(l.reservations, bar.Name) // the cache counts it from now on
	}
	if after == nil && l.deleted != nil {
		l.deleted[bar.UID] = true
	}
	if before != nil && (after == nil || after.Spec.Tenant != before.Spec.Tenant) {
		l.wake(before.Spec.Tenant)
	}
}

// forget takes a source off the wait list.
func (l *limits) forget(source v1alpha1.BarSourceReference) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(source, func(string) bool { return true })
}

// waits returns whether a source is on a wait list.
func (l *limits) waits(source v1alpha1.BarSourceReference) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range l.waiting {
		if _, ok := list[source]; ok {
			return true
		}
	}
	return false
}

// remove takes a source off the wait lists of the chosen tenants. The next one there may have the
// room that was kept for it. The caller holds the lock.
func (l *limits) remove(source v1alpha1.BarSourceReference, chosen func(tenant string) bool) {
	for tenant, list := range l.waiting {
		if _, ok := list[source]; !ok || !chosen(tenant) {
			continue
		}
		delete(list, source)
		if len(list) == 0 {
			delete(l.waiting, tenant)
		}
		l.wake(tenant)
	}
}

// count counts the Bars and the reservations of a tenant. The caller holds the lock: between a look
// at the cache and one at the reservations no event may move a Bar from these to that.
func (l *limits) count(ctx context.Context, tenant string) (int, error) {
	cached, err := l.barsOf(ctx, tenant)
	if err != nil {
		return 0, err
	}
	count := len(cached)
	for name, r := range l.reservations {
		switch {
		case r.tenant != tenant, cached[name]: // the reservation ends with the event of this very Bar
		case r.uid != "" && l.clock.Since(r.at) > cacheLag:
			delete(l.reservations, name)
		default:
			count++
		}
	}
	return count, nil
}

// barsOf returns the names of the cached Bars that count against the limit of a tenant: those in
// the namespaces that are served for it, whatever tenant they record, because a namespace that has
// changed hands brings its Bars along; and those that record it in namespaces that are not served.
func (l *limits) barsOf(ctx context.Context, tenant string) (map[string]bool, error) {
	cached := map[string]bool{}
	take := func(chosen client.MatchingFields) error {
		bars := &v1alpha1.BarList{}
		if err := l.cached.List(ctx, bars, client.InNamespace(l.systemNamespace), chosen, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		for i := range bars.Items {
			namespace, served := l.namespaces.Lookup(bars.Items[i].Spec.SourceRef.Namespace)
			if !served && bars.Items[i].Spec.Tenant == tenant || served && namespace.Tenant == tenant {
				cached[bars.Items[i].Name] = true
			}
		}
		return nil
	}
	if err := take(client.MatchingFields{byTenant: tenant}); err != nil {
		return nil, err
	}
	for _, namespace := range l.namespaces.Served() {
		if namespace.Tenant != tenant {
			continue
		}
		if err := take(client.MatchingFields{byNamespace: namespace.Name}); err != nil {
			return nil, err
		}
	}
	return cached, nil
}

// list reads all Bars live, once, and makes reservations for those that the cache does not have: a
// leader before this one may have made them a moment ago. Whoever needs the answer waits for it,
// and nobody else.
func (l *limits) list(ctx context.Context) error {
	select {
	case l.listing <- struct{}{}:
		defer func() { <-l.listing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if !l.beginList() {
		return nil
	}
	live := &metav1.PartialObjectMetadataList{}
	live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BarList"))
	err := l.direct.List(ctx, live, client.InNamespace(l.systemNamespace))

	l.mu.Lock()
	defer l.mu.Unlock()
	deleted := l.deleted
	l.deleted = nil
	if err != nil {
		return err
	}
	bars := &v1alpha1.BarList{}
	if err := l.cached.List(ctx, bars, client.InNamespace(l.systemNamespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	cached := make(map[types.UID]bool, len(bars.Items))
	for i := range bars.Items {
		cached[bars.Items[i].UID] = true
	}
	for i := range live.Items {
		bar := &live.Items[i]
		if _, known := l.reservations[bar.Name]; !known && !cached[bar.UID] && !deleted[bar.UID] {
			l.reservations[bar.Name] = reservation{tenant: bar.Labels[v1alpha1.TenantLabel], uid: bar.UID, at: l.clock.Now()}
		}
	}
	l.listed = true
	return nil
}

// beginList returns whether a live list is needed, and has the deletions noted that are seen during
// it.
func (l *limits) beginList() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listed {
		return false
	}
	l.deleted = map[types.UID]bool{}
	return true
}

// before counts the sources on a tenant's wait list that are older: the room is theirs. The caller
// holds the lock.
func (l *limits) before(tenant string, w waiter) (n int) {
	for source, created := range l.waiting[tenant] {
		if source != w.source && compareWaiters(waiter{source, created}, w) < 0 {
			n++
		}
	}
	return n
}

// wake queues the oldest source on a tenant's wait list. The caller holds the lock.
func (l *limits) wake(tenant string) {
	var oldest *waiter
	for source, created := range l.waiting[tenant] {
		if w := (waiter{source, created}); oldest == nil || compareWaiters(w, *oldest) < 0 {
			oldest = &w
		}
	}
	if oldest == nil {
		return
	}
	if queue := l.queues[oldest.source.Kind]; queue != nil {
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
