package tenancy

import (
	"time"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// losses records since when this process has known that namespaces are lost. A namespace is lost
// when no Tenant names it, or when the operator may not act in it. The registry's mutex guards it.
type losses struct {
	now   func() time.Time
	since map[string]time.Time // by namespace
	first time.Time            // the first assignment: the loss of a namespace that was never assigned
	watch []func(namespace string)
}

func newLosses() losses {
	return losses{now: time.Now, since: map[string]time.Time{}}
}

// begin records a loss, unless the namespace has been lost before and not been served since.
func (l *losses) begin(namespace string) {
	if _, lost := l.since[namespace]; !lost {
		l.since[namespace] = l.now()
	}
}

// end records that a namespace is served.
func (l *losses) end(namespace string) {
	delete(l.since, namespace)
}

// LostSince returns since when a namespace is lost: no Tenant names it, or the operator may not act
// in it. The time is counted by this process, because clocks of other replicas can differ. It
// returns false while the namespace is served, and while its state is not known yet.
func (r *Registry) LostSince(namespace string) (since time.Time, lost bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, assigned := r.engagements[namespace]
	switch {
	case !r.assigned, assigned && e.state.State != v1alpha1.NamespaceRefused:
		return time.Time{}, false
	}
	if since, ok := r.losses.since[namespace]; ok {
		return since, true
	}
	return r.losses.first, true
}

// Assigned returns whether a namespace is assigned to a Tenant. Until the Tenants were read it is
// true for each.
func (r *Registry) Assigned(namespace string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, assigned := r.engagements[namespace]
	return assigned || !r.assigned
}

// NotifyLoss registers a function that is called, without the registry's mutex, with the name of a
// namespace that has just been lost, or that has just begun to be served.
func (r *Registry) NotifyLoss(f func(namespace string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.losses.watch = append(r.losses.watch, f)
}
