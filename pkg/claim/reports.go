package claim

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/controlee/controlee/pkg/retry"
)

// debounce is how long an answer that is about to be replaced is held back: each write of
// annotations gives a Deployment a new generation, and its ReplicaSet a write as well.
const debounce = 2 * time.Second

// Delays between two writes of one value that something else keeps removing, or that flaps, doubled
// from firstRewrite to lastRewrite.
const (
	firstRewrite = time.Second
	lastRewrite  = 30 * time.Second
)

// contestedAfter is the number of writes of one value, at most lastRewrite apart, that say that
// something else keeps removing it. A person who tries what happens does not remove it as often.
const contestedAfter = 4

// reports remembers what this process has lately written on the sources of one kind.
type reports struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	sources map[client.ObjectKey]*reported
}

// reported is what this process has lately written on one source, or holds back from it. No two
// reconciles use it at the same time, since a queue gives out a source once.
type reported struct {
	uid types.UID
	// since is when the answer became a transitional one; zero: it is none.
	since time.Time
	// heldBack is the word of the last answer that was transitional, until another one is written.
	heldBack             string
	annotations, ingress rewrites
}

func newReports(now clock.PassiveClock) *reports {
	return &reports{clock: now, sources: map[client.ObjectKey]*reported{}}
}

// of gives what is remembered of a source.
func (r *reports) of(source client.Object) *reported {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.sources[client.ObjectKeyFromObject(source)]; ok && known.uid == source.GetUID() {
		return known
	}
	return &reported{uid: source.GetUID()}
}

// keep remembers a source for as long as that makes a difference.
func (r *reports) keep(source client.Object, what *reported) {
	key, now := client.ObjectKeyFromObject(source), r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if what.since.IsZero() && what.annotations.isOver(now) && what.ingress.isOver(now) {
		delete(r.sources, key)
	} else {
		r.sources[key] = what
	}
}

// forget forgets a source that does not exist, or that is not served.
func (r *reports) forget(key client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sources, key)
}

// forgetNamespace forgets all sources in a namespace.
func (r *reports) forgetNamespace(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.sources, func(key client.ObjectKey, _ *reported) bool { return key.Namespace == namespace })
}

// observe takes note of the present answer.
func (r *reported) observe(answer Answer, now time.Time) {
	switch {
	case !answer.transitional():
		r.since = time.Time{}
	case r.since.IsZero():
		r.since = now
	}
	if answer.transitional() {
		r.heldBack = answer.Word
	}
}

// wait says for how long the present news are held back.
func (r *reported) wait(n news, now time.Time) time.Duration {
	wait := r.annotations.wait(n.topic(), now)
	if !r.since.IsZero() {
		wait = max(wait, debounce-now.Sub(r.since))
	}
	return wait
}

// rewrites are the writes on one object that have followed each other and are about one topic. They
// back off, because each of them costs others a write as well, whether something else keeps
// replacing what was written or the value itself flaps.
type rewrites struct {
	topic string
	count int
	last  time.Time
	// value is what was written last.
	value string
	// replaced counts the writes before which something else had replaced that value.
	replaced int
}

// isOver says whether the last write is so long ago that the next one is no rewrite.
func (w *rewrites) isOver(now time.Time) bool {
	return w.count == 0 || now.Sub(w.last) > 2*lastRewrite
}

// wait says for how long nothing about a topic must be written again. What is about another topic
// is written at once.
func (w *rewrites) wait(topic string, now time.Time) time.Duration {
	if w.topic != topic || w.isOver(now) {
		return 0
	}
	return max(0, retry.Doubled(firstRewrite, lastRewrite, w.count-1)-now.Sub(w.last))
}

// wrote records a write of a value where another one was found. It returns whether the write is the
// first one, and whether it is the one with which it is certain that something else contests the
// value.
func (w *rewrites) wrote(topic, found, value string, now time.Time) (first, contested bool) {
	first = w.topic != topic || w.isOver(now)
	if first {
		*w = rewrites{topic: topic}
	} else if found != w.value {
		w.replaced++
		contested = w.replaced == contestedAfter-1 // the first write replaced nothing
	}
	w.value, w.last = value, now
	w.count++
	return first, contested
}

// sooner gives the shorter one of two delays, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
