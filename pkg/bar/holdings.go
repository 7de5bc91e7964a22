package bar

import (
	"cmp"
	"context"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/tenancy"
)

// holdings says which Bar has what only one can have, such as a host name.
//
// What is held stands in Bar.status.targets; this is the leader's view of it, which all workers share, so that of two that ask at the same
// time one gets it. It is read from there once, when the first Bar asks, and kept up to date with what is written.
type holdings struct {
	reader    client.Reader // reads Bars from a cache
	namespace string

	mu      sync.Mutex
	read    bool
	holder  map[string]string                   // by key, the name of the Bar
	waiting map[string]map[string]*v1alpha1.Bar // by key and the name of the Bar
	queue   tenancy.Queue
}

func newHoldings(reader client.Reader, namespace string) *holdings {
	return &holdings{reader: reader, namespace: namespace, holder: map[string]string{}, waiting: map[string]map[string]*v1alpha1.Bar{}}
}

// wakeThrough sets the queue through which those that wait are woken up.
func (h *holdings) wakeThrough(queue tenancy.Queue) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queue = queue
}

// claim takes all that the parts need for themselves, or none of it: then the Bar waits, and is reconciled again when it is free.
// Of those that wait the oldest comes first.
func (h *holdings) claim(ctx context.Context, bar *v1alpha1.Bar, parts []part) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.readOnce(ctx); err != nil {
		return err
	}
	h.stopWaiting(bar.Name)
	for i := range parts {
		exclusive := parts[i].exclusive
		if exclusive == nil || h.isFree(exclusive.Key, bar) {
			continue
		}
		if h.waiting[exclusive.Key] == nil {
			h.waiting[exclusive.Key] = map[string]*v1alpha1.Bar{}
		}
		h.waiting[exclusive.Key][bar.Name] = bar
		return &provider.RefusalError{Reason: exclusive.Reason, Message: exclusive.Message}
	}
	for i := range parts {
		if exclusive := parts[i].exclusive; exclusive != nil {
			h.holder[exclusive.Key] = bar.Name
		}
	}
	return nil
}

func (h *holdings) isFree(key string, bar *v1alpha1.Bar) bool {
	if holder, held := h.holder[key]; held {
		return holder == bar.Name
	}
	for _, other := range h.waiting[key] {
		if older(other, bar) {
			return false // it was woken up and is about to come
		}
	}
	return true
}

// settle takes over what a Bar holds as its status was just written, and wakes up who waits for what it no longer holds.
func (h *holdings) settle(bar *v1alpha1.Bar) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := map[string]bool{}
	for i := range bar.Status.Targets {
		if key := bar.Status.Targets[i].Holds; key != "" {
			held[key] = true
		}
	}
	for key, holder := range maps.Clone(h.holder) {
		if holder == bar.Name && !held[key] {
			h.free(key)
		}
	}
}

// forget drops a Bar that is gone.
func (h *holdings) forget(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopWaiting(name)
	for key, holder := range maps.Clone(h.holder) {
		if holder == name {
			h.free(key)
		}
	}
}

// leave drops a Bar from all that it waits for: it no longer wants it, or cannot use it now.
func (h *holdings) leave(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopWaiting(name)
}

// free makes a key free and wakes up who waits for it.
func (h *holdings) free(key string) {
	delete(h.holder, key)
	h.wake(key)
}

func (h *holdings) wake(key string) {
	if h.queue == nil {
		return
	}
	for name := range h.waiting[key] {
		h.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: h.namespace, Name: name}})
	}
}

// stopWaiting takes a Bar from all that it waited for. The others, which may have let it go first, are woken up.
func (h *holdings) stopWaiting(name string) {
	for key, bars := range h.waiting {
		if _, waited := bars[name]; !waited {
			continue
		}
		delete(bars, name)
		if len(bars) == 0 {
			delete(h.waiting, key)
		} else if _, held := h.holder[key]; !held {
			h.wake(key)
		}
	}
}

// readOnce takes over what the Bars hold by their statuses. Should two hold the same, the older one keeps it.
func (h *holdings) readOnce(ctx context.Context) error {
	if h.read {
		return nil
	}
	bars := &v1alpha1.BarList{}
	if err := h.reader.List(ctx, bars, client.InNamespace(h.namespace)); err != nil {
		return err
	}
	holders := map[string]*v1alpha1.Bar{}
	for i := range bars.Items {
		for _, target := range bars.Items[i].Status.Targets {
			if other := holders[target.Holds]; target.Holds != "" && (other == nil || older(&bars.Items[i], other)) {
				holders[target.Holds] = &bars.Items[i]
			}
		}
	}
	for key, bar := range holders {
		if _, held := h.holder[key]; !held {
			h.holder[key] = bar.Name
		}
	}
	h.read = true
	return nil
}

// older says whether a Bar is older than another; of two that were made in the same second the one whose name sorts first counts as older.
func older(a, b *v1alpha1.Bar) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) < 0
}
