package claim

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/controlee/controlee/test/try"
)

// within fails the test when a call does not return.
func within(t *testing.T, call func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("the call does not return")
	}
}

// hang has the live list hang, and a source ask for a place meanwhile. finish lets the list end and
// returns the answer.
func (c *crowd) hang(t *testing.T, name string) (finish func() bool) {
	t.Helper()
	c.server.hang = make(chan struct{})
	answer := make(chan bool, 1)
	go func() { answer <- c.asks(t, name) }()
	try.Until(t, 5*time.Second, func(context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.deleted == nil {
			return errors.New("the live list has not begun")
		}
		return nil
	})
	return func() bool {
		close(c.server.hang)
		return <-answer
	}
}

// While a tenant's first reserve waits for the API server, the events of all tenants' Bars are
// taken in, and other tenants served.
func TestAHangingListHoldsNobodyUp(t *testing.T) {
	c := newCrowd(t, 2)
	finish := c.hang(t, "a")
	within(t, func() { c.observe(nil, c.bar("other")) })
	within(t, func() { c.observe(c.bar("other"), nil) })
	within(t, func() { c.forget(c.ref("other")) })
	within(t, func() { c.waits(c.ref("other")) })
	within(t, func() {
		unlimited := *c.tenant
		unlimited.Name, unlimited.Spec.MaxBars = "unlimited", nil
		if got, err := c.reserve(t.Context(), &unlimited, waiter{source: c.ref("u")}, "u"); !got || err != nil {
			t.Errorf("a tenant without a limit: %v, %v", got, err)
		}
	})
	within(t, func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.reserve(ctx, c.tenant, waiter{source: c.ref("b")}, "b"); err == nil {
			t.Error("a reserve whose context has ended goes on waiting")
		}
	})
	if !finish() {
		t.Error("no place in the end")
	}
	c.asks(t, "c")
	if c.server.lists != 1 {
		t.Errorf("%d live lists, want 1", c.server.lists)
	}
}

// A Bar that is deleted while the live list runs is not taken for one that the cache has yet to
// hear of.
func TestABarDeletedDuringTheLiveList(t *testing.T) {
	c := newCrowd(t, 1)
	c.server.bars, c.cache.bars = []string{"x"}, []string{"x"}
	finish := c.hang(t, "a")
	c.cache.bars = nil
	c.observe(c.bar("x"), nil)
	if !finish() {
		t.Error("a Bar that is gone takes room")
	}
}

// A Bar that the cache hears of while the live list runs counts once.
func TestABarThatArrivesDuringTheLiveList(t *testing.T) {
	c := newCrowd(t, 2)
	c.server.bars = []string{"x"}
	finish := c.hang(t, "a")
	c.arrives("x")
	if !finish() {
		t.Error("a Bar counts twice")
	}
	if c.asks(t, "b") {
		t.Error("a place beyond the limit")
	}
}

// A Bar whose tenant changes in place leaves room at the old tenant, and its oldest waiting source
// gets it.
func TestABarThatChangesItsTenantMakesRoom(t *testing.T) {
	c := newCrowd(t, 1)
	c.asks(t, "a")
	c.made("a")
	c.arrives("a")
	if c.asks(t, "b") {
		t.Fatal("a place beyond the limit")
	}
	c.observe(c.bar("a"), c.bar("a"))
	if queued := c.told(); queued != nil {
		t.Fatalf("queued %v although no room was made", queued)
	}
	moved := c.bar("a")
	moved.Spec.Tenant = "other"
	c.cache.bars = nil // the shelf has the Bars of tenant a
	c.observe(c.bar("a"), moved)
	if queued := c.told(); !slices.Equal(queued, []string{"b"}) {
		t.Fatalf("queued %v, want b", queued)
	}
	if !c.asks(t, "b") {
		t.Error("the room that the Bar left is not free")
	}
}

// A namespace that has changed hands brings its Bars along: they count for the new Tenant before
// they record it, and no longer for the old one.
func TestBarsOfANamespaceThatHasChangedHands(t *testing.T) {
	c := newCrowd(t, 1)
	c.cache.bars, c.cache.tenant = []string{"a"}, "old"
	if c.asks(t, "b") {
		t.Error("the Bar of the namespace does not count for its new Tenant")
	}
	c.namespaces = serving{"team-a": "other"}
	c.cache.tenant = "a"
	if !c.asks(t, "b") {
		t.Error("the Bar of a namespace of another Tenant counts for the old one")
	}
}

// A reservation that the cache never confirms ends by itself: its Bar was deleted before the cache
// heard of it.
func TestAReservationExpires(t *testing.T) {
	c := newCrowd(t, 1)
	c.asks(t, "a")
	c.settle("a", "a", "uid-a")
	if c.asks(t, "b") {
		t.Fatal("a Bar that the cache has not seen does not count")
	}
	c.clock.SetTime(c.clock.Now().Add(cacheLag + time.Second))
	if !c.asks(t, "b") {
		t.Error("a reservation counts for ever")
	}
}
