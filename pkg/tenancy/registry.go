package tenancy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// Namespace is a tenant namespace that is being served.
type Namespace struct {
	// Name of the namespace.
	Name string
	// Tenant is the name of the Tenant that the namespace belongs to.
	Tenant string
	// Reader reads from the namespace's cache, and only the kinds that Options.Kinds lists, and those of Options.Late that the cluster has
	// and the operator may read here.
	client.Reader

	omitted func(schema.GroupKind) error
}

// Denied returns an *AccessDeniedError for a kind of Options.Late that the operator may not read or write in the namespace, else nil.
func (n *Namespace) Denied(kind schema.GroupKind) error {
	if n.omitted == nil {
		return nil
	}
	err := n.omitted(kind)
	if denied := (*AccessDeniedError)(nil); errors.As(err, &denied) {
		return err
	}
	return nil
}

// Options say how a Registry reads tenant namespaces.
type Options struct {
	Config     *rest.Config
	HTTPClient *http.Client
	Scheme     *runtime.Scheme
	Mapper     meta.RESTMapper
	// Client asks for access reviews.
	Client client.Client
	// Kinds are cached in every tenant namespace. The operator's role must allow to list and watch each.
	Kinds []client.Object
	// Late are kinds that are cached, as unstructured objects, where the cluster has them.
	Late *LateKinds
	// Rights are what the controllers need in every tenant namespace besides, with verb, group, resource and subresource.
	Rights []authorizationv1.ResourceAttributes
	// Transform is applied to every object before it is cached.
	Transform toolscache.TransformFunc
}

// Registry knows which namespaces are served, and runs an engagement for each assigned one.
// It runs in standbys too, so that their caches are warm when they take over.
type Registry struct {
	options Options
	access  *access

	synced atomic.Bool // whether all caches were filled once

	mu            sync.RWMutex
	ctx           context.Context //nolint:containedctx // ends all engagements, also those that begin after Start, which sets it
	assigned      bool            // whether the first assignment has arrived
	contested     int             // namespaces that Tenants name and do not get
	engagements   map[string]*engagement
	subscriptions []*subscription
	onChange      []func(tenant string)
	losses        losses
}

// NewRegistry makes a Registry that serves nothing yet.
func NewRegistry(options Options) *Registry {
	return &Registry{
		options:     options,
		access:      &access{options: options},
		engagements: map[string]*engagement{},
		losses:      newLosses(),
	}
}

// Start runs until ctx is done. It does not wait for the engagements, which end with ctx and only read: the leader gives back its Lease
// when all that it runs has ended, and somebody is waiting for that.
func (r *Registry) Start(ctx context.Context) error {
	late := r.options.Late
	late.learn(ctx)
	late.Notify(r.followLate)
	r.mu.Lock()
	r.ctx = ctx
	for _, e := range r.engagements {
		r.launch(e)
	}
	r.mu.Unlock()
	late.follow(ctx)
	return nil
}

// NeedLeaderElection says that standbys run it too.
func (r *Registry) NeedLeaderElection() bool { return false }

// Lookup gives the namespace if it is being served now.
func (r *Registry) Lookup(name string) (*Namespace, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.engagements[name]
	if !ok || e.namespace == nil {
		return nil, false
	}
	return e.namespace, true
}

// Served gives all namespaces that are being served now, in no order.
func (r *Registry) Served() []*Namespace {
	r.mu.RLock()
	defer r.mu.RUnlock()
	served := make([]*Namespace, 0, len(r.engagements))
	for _, e := range r.engagements {
		if e.namespace != nil {
			served = append(served, e.namespace)
		}
	}
	return served
}

// Suspect has the operator's access to a namespace checked again: a controller calls it when a request was forbidden.
func (r *Registry) Suspect(name string) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e, ok := r.engagements[name]; ok {
		e.wakeUp()
	}
}

// followLate has every engagement look again at which late kinds there are.
func (r *Registry) followLate() {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, e := range r.engagements {
		e.lookAgain()
	}
}

// Assign starts to serve the namespaces that are new in the assignment, and stops to serve those that left it.
func (r *Registry) Assign(assignment Assignment) {
	ended, watch := r.assign(assignment)
	for _, name := range ended {
		for _, f := range watch {
			f(name)
		}
	}
}

// assign returns the namespaces whose engagements have ended, and who is to be notified of them.
func (r *Registry) assign(assignment Assignment) (ended []string, watch []func(string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tenants := assignment.Tenants
	r.contested = 0
	for _, refused := range assignment.Refused {
		r.contested += len(refused)
	}
	if !r.assigned {
		r.assigned, r.losses.first = true, r.losses.now()
	}
	for name, e := range r.engagements {
		if tenants[name] == e.tenant {
			continue
		}
		e.namespace, e.attach = nil, nil
		e.end()
		delete(r.engagements, name)
		r.losses.begin(name)
		ended = append(ended, name)
	}
	for name, tenant := range tenants {
		if _, ok := r.engagements[name]; ok {
			continue
		}
		e := newEngagement(r, name, tenant)
		r.engagements[name] = e
		if r.ctx != nil {
			r.launch(e)
		}
	}
	return ended, r.losses.watch
}

// launch starts an engagement, which ends with the registry and not with the caller. The caller holds the lock.
func (r *Registry) launch(e *engagement) {
	ctx, cancel := context.WithCancel(r.ctx)
	e.end = cancel
	go func() {
		defer cancel()
		e.run(ctx)
	}()
}

// States gives the state of each namespace that is assigned to a Tenant.
func (r *Registry) States(tenant string) map[string]State {
	r.mu.RLock()
	defer r.mu.RUnlock()
	states := map[string]State{}
	for name, e := range r.engagements {
		if e.tenant == tenant {
			states[name] = e.state
		}
	}
	return states
}

// Synced is a readiness check: the Tenants have been read, and the cache of each namespace that can be served is filled. What was true
// once stays true: a namespace that comes later, or that is lost, is its Tenant's trouble, and must not take the replica away from all
// others.
func (r *Registry) Synced(_ *http.Request) error {
	if r.synced.Load() {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.assigned {
		return errors.New("the Tenants have not been read yet")
	}
	for name, e := range r.engagements {
		if !e.settled {
			return fmt.Errorf("the cache of namespace %s is not filled yet", name)
		}
	}
	r.synced.Store(true)
	return nil
}

// notify registers a function that is called with the Tenant's name when the state of one of its namespaces changes.
func (r *Registry) notify(f func(tenant string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onChange = append(r.onChange, f)
}

// setOmitted records which late kinds a namespace is served without, and tells if that changes what its Tenant says.
func (r *Registry) setOmitted(e *engagement, omitted map[schema.GroupKind]error) {
	r.mu.Lock()
	e.omitted = omitted
	state := e.state
	state.Message = omittedMessage(omitted)
	if e.namespace == nil || state.isSame(e.state) {
		r.mu.Unlock()
		return
	}
	e.state = state
	told := r.onChange
	r.mu.Unlock()
	for _, f := range told {
		f(e.tenant)
	}
}

// set records what became of a try to serve an engagement's namespace, well or not, and tells.
func (r *Registry) set(e *engagement, state State, namespace *Namespace) {
	r.mu.Lock()
	changed := !e.state.isSame(state)
	if changed {
		e.state = state
	}
	e.namespace = namespace
	if namespace == nil {
		e.attach = nil
	}
	e.settled = true
	switch {
	case r.engagements[e.name] != e: // it has ended: another one, or none, speaks for the namespace
	case namespace != nil:
		r.losses.end(e.name)
	case state.State == v1alpha1.NamespaceRefused:
		r.losses.begin(e.name)
	}
	told, watch := r.onChange, r.losses.watch
	r.mu.Unlock()
	if changed {
		for _, f := range told {
			f(e.tenant)
		}
		for _, f := range watch {
			f(e.name)
		}
	}
}
