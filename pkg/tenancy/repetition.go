package tenancy

import (
	"sync"
	"time"
)

// How often the same trouble is logged again: at first after repeatFirst, then ever more rarely.
const (
	repeatFirst = 30 * time.Second
	repeatLast  = 10 * time.Minute
)

// repetition decides which reports of a trouble that lasts are logged: the first one, the first one
// of another kind of trouble, and repetitions after pauses that double from repeatFirst to
// repeatLast. The zero value is ready to use.
type repetition struct {
	mu    sync.Mutex
	kind  string
	pause time.Duration
	next  time.Time
}

// due returns whether a report is to be logged now.
func (r *repetition) due(kind string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case kind != r.kind:
		r.kind, r.pause = kind, repeatFirst
	case now.Before(r.next):
		return false
	default:
		r.pause = min(2*r.pause, repeatLast)
	}
	r.next = now.Add(r.pause)
	return true
}

// reset ends the trouble: the next one is logged at once.
func (r *repetition) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kind = ""
}
