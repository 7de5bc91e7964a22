package tenancy

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// existenceAge is for how long it is taken for granted that a namespace exists.
const existenceAge = 3 * time.Second

// existence answers IsGone for many objects of one namespace with one GET in existenceAge. Only the
// metadata of a namespace that exists is cached: a namespace that does not exist can be created,
// and an object in it, before the cached answer expires.
type existence struct {
	live  client.Reader
	clock clock.PassiveClock

	mu     sync.Mutex
	known  map[string]*knownNamespace
	pruned time.Time
}

// knownNamespace is a namespace that has been asked for. Its mutex is held during the GET, so that
// objects that ask at the same time share the answer.
type knownNamespace struct {
	used time.Time // guarded by the mutex of the existence

	mu      sync.Mutex
	read    time.Time // zero: it is not known whether the namespace exists
	created metav1.Time
}

func newExistence(live client.Reader, now clock.PassiveClock) *existence {
	return &existence{live: live, clock: now, known: map[string]*knownNamespace{}}
}

// isGone returns what IsGone does. That a namespace is gone can be noticed existenceAge later.
func (e *existence) isGone(ctx context.Context, name string, made metav1.Time) (bool, error) {
	known := e.entry(name)
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.read.IsZero() || e.clock.Since(known.read) >= existenceAge {
		asked := e.clock.Now()
		created, exists, err := readNamespace(ctx, e.live, name)
		known.read = time.Time{}
		if err != nil || !exists {
			return !exists && err == nil, err
		}
		known.read, known.created = asked, created
	}
	return isYounger(known.created, made), nil
}

// entry returns the entry of a namespace, and frees those that nothing has used for some time.
func (e *existence) entry(name string) *knownNamespace {
	now := e.clock.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Sub(e.pruned) >= existenceAge {
		for other, known := range e.known {
			if now.Sub(known.used) >= existenceAge {
				delete(e.known, other)
			}
		}
		e.pruned = now
	}
	known, ok := e.known[name]
	if !ok {
		known = &knownNamespace{}
		e.known[name] = known
	}
	known.used = now
	return known
}

// IsGone returns what the function IsGone does for an object that was made in a namespace at the
// given time. All objects of a namespace share one GET in a few seconds, because a namespace that
// is lost is asked for by each of its Bars.
func (r *Registry) IsGone(ctx context.Context, name string, made metav1.Time) (bool, error) {
	return r.existence.isGone(ctx, name, made)
}
