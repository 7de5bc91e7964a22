package claim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// shelf is a cache, or an API server, that holds the Bars of one tenant. Unlike a real one it lags behind exactly as long as a test wants.
type shelf struct {
	client.Reader
	bars   []string
	tenant string        // that the Bars record; "": a
	lists  int           // how often it was listed
	hang   chan struct{} // a list ends when this is closed; nil: at once
}

func (s *shelf) List(ctx context.Context, list client.ObjectList, _ ...client.ListOption) error {
	s.lists++
	bars := slices.Clone(s.bars) // as they are when the list begins
	if s.hang != nil {
		select {
		case <-s.hang:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, name := range bars {
		meta := metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{v1alpha1.TenantLabel: "a"}}
		switch list := list.(type) {
		case *v1alpha1.BarList:
			list.Items = append(list.Items, v1alpha1.Bar{ObjectMeta: meta, Spec: v1alpha1.BarSpec{
				Tenant: cmp.Or(s.tenant, "a"), SourceRef: v1alpha1.BarSourceReference{Namespace: "team-a"},
			}})
		case *metav1.PartialObjectMetadataList:
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: meta})
		default:
			return fmt.Errorf("nobody should list %T", list)
		}
	}
	return nil
}

// serving says for which Tenant each namespace is served.
type serving map[string]string

func (s serving) Lookup(name string) (*tenancy.Namespace, bool) {
	tenant, served := s[name]
	return &tenancy.Namespace{Name: name, Tenant: tenant}, served
}

func (s serving) Served() (all []*tenancy.Namespace) {
	for name, tenant := range s {
		all = append(all, &tenancy.Namespace{Name: name, Tenant: tenant})
	}
	return all
}

// crowd is limits with the sources that were told that there is room.
type crowd struct {
	*limits
	cache, server *shelf
	tenant        *v1alpha1.Tenant
	clock         *clocktesting.FakePassiveClock
	queue         workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newCrowd(t *testing.T, limit int32) *crowd {
	t.Helper()
	cache, server := &shelf{}, &shelf{}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	c := &crowd{
		limits: newLimits(cache, server, serving{"team-a": "a"}, "controlee-system", clock), clock: clock, cache: cache, server: server, queue: queue,
		tenant: &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1alpha1.TenantSpec{MaxBars: ptr.To(limit)}},
	}
	c.attach(v1alpha1.SourceDeployment, queue)
	return c
}

// asks has the source of a name ask for a place. Sources are the older the earlier their names sort.
func (c *crowd) asks(t *testing.T, name string) bool {
	t.Helper()
	created := time.Unix(int64(name[0]), 0)
	got, err := c.reserve(t.Context(), c.tenant, waiter{c.ref(name), created}, name)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (c *crowd) ref(name string) v1alpha1.BarSourceReference {
	return kinds[0].ref(client.ObjectKey{Namespace: "team-a", Name: name})
}

// made has the API server make the Bar of a source; the cache hears of it with arrives.
func (c *crowd) made(name string) {
	c.server.bars = append(c.server.bars, name)
	c.settle("a", name, types.UID("uid-"+name))
}

func (c *crowd) bar(name string) *v1alpha1.Bar {
	return &v1alpha1.Bar{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}, Spec: v1alpha1.BarSpec{Tenant: "a"}}
}

func (c *crowd) arrives(name string) {
	c.cache.bars = append(c.cache.bars, name)
	c.observe(nil, c.bar(name))
}

func (c *crowd) goes(name string) {
	gone := func(other string) bool { return other == name }
	c.cache.bars, c.server.bars = slices.DeleteFunc(c.cache.bars, gone), slices.DeleteFunc(c.server.bars, gone)
	c.observe(c.bar(name), nil)
}

// told gives the sources that were told since the last call that there is room.
func (c *crowd) told() (names []string) {
	for c.queue.Len() > 0 {
		request, _ := c.queue.Get()
		c.queue.Done(request)
		names = append(names, request.Name)
	}
	return names
}

func TestLimits(t *testing.T) {
	t.Run("ALaggingCacheLetsNobodyThrough", func(t *testing.T) {
		c := newCrowd(t, 2)
		if !c.asks(t, "a") || !c.asks(t, "b") || c.asks(t, "c") {
			t.Fatal("places that are being filled do not count")
		}
		c.made("a")
		c.made("b")
		if c.asks(t, "c") {
			t.Fatal("Bars that the cache has not seen do not count")
		}
		c.arrives("a")
		c.arrives("b")
		if c.asks(t, "c") {
			t.Fatal("Bars in the cache do not count")
		}
	})
	t.Run("RoomGoesToTheOldest", func(t *testing.T) {
		c := newCrowd(t, 1)
		c.asks(t, "a")
		c.made("a")
		c.arrives("a")
		for _, late := range []string{"d", "b", "c"} {
			if c.asks(t, late) {
				t.Fatalf("%s got a place beyond the limit", late)
			}
		}
		c.goes("a")
		if told := c.told(); !slices.Equal(told, []string{"b"}) {
			t.Fatalf("told %v, want b", told)
		}
		if c.asks(t, "c") || c.asks(t, "d") {
			t.Fatal("a younger one takes the place")
		}
		if !c.asks(t, "b") || c.asks(t, "c") {
			t.Fatal("the oldest does not get the place, or it is given twice")
		}
	})
	t.Run("WhoLeavesTheLineMakesRoom", func(t *testing.T) {
		c := newCrowd(t, 1)
		c.asks(t, "a")
		c.made("a")
		c.arrives("a")
		c.asks(t, "b")
		c.asks(t, "c")
		c.goes("a")
		c.told()
		c.forget(c.ref("b"))
		if told := c.told(); !slices.Equal(told, []string{"c"}) || c.waits(c.ref("b")) || !c.waits(c.ref("c")) {
			t.Fatalf("told %v, want c", told)
		}
		if !c.asks(t, "c") || c.waits(c.ref("c")) {
			t.Fatal("the next one does not get the place")
		}
	})
	t.Run("WhoGoesToAnotherTenantLeavesTheLine", func(t *testing.T) {
		c := newCrowd(t, 1)
		a := c.tenant
		c.cache.bars = []string{"x"}
		if c.asks(t, "m") {
			t.Fatal("there is room beyond the limit")
		}
		c.tenant = &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: v1alpha1.TenantSpec{MaxBars: ptr.To[int32](0)}}
		if c.asks(t, "m") {
			t.Fatal("there is room with the other tenant")
		}
		c.forget(c.ref("m"))
		c.tenant, a.Spec.MaxBars = a, ptr.To[int32](2)
		if !c.asks(t, "y") {
			t.Fatal("a place is kept for a source that is no longer the tenant's")
		}
	})
	t.Run("APlaceThatIsNotUsedIsFree", func(t *testing.T) {
		c := newCrowd(t, 1)
		c.asks(t, "a")
		c.asks(t, "b")
		c.settle("a", "a", "")
		if told := c.told(); !slices.Equal(told, []string{"b"}) || !c.asks(t, "b") {
			t.Fatalf("told %v, want b", told)
		}
	})
	t.Run("ABarMadeAgainCountsAlthoughTheOldOneGoes", func(t *testing.T) {
		c := newCrowd(t, 1)
		c.asks(t, "a")
		c.settle("a", "a", "uid-of-the-next")
		c.observe(c.bar("a"), nil) // the cache tells of the end of the one before
		c.told()
		if c.asks(t, "b") {
			t.Fatal("the new Bar was taken for the old one")
		}
	})
	t.Run("WhatALeaderBeforeMadeCounts", func(t *testing.T) {
		c := newCrowd(t, 2)
		c.server.bars = []string{"x", "y"}
		c.cache.bars = []string{"x"}
		if c.asks(t, "a") {
			t.Fatal("a Bar that the cache of a new leader has not seen does not count")
		}
	})
	t.Run("LowerLimitsTakeNothingAway", func(t *testing.T) {
		c := newCrowd(t, 0)
		c.cache.bars = []string{"x", "y"}
		if c.asks(t, "a") {
			t.Fatal("0 forbids")
		}
		c.tenant.Spec.MaxBars = nil
		if !c.asks(t, "a") {
			t.Fatal("no limit is no limit")
		}
	})
}
