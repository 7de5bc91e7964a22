package tenancy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// State says how far a namespace is served, and why not further.
type State struct {
	State           v1alpha1.NamespaceState
	Reason, Message string
}

// syncTimeout is how long the caches of a namespace may take to fill before the Tenant says so.
const syncTimeout = 30 * time.Second

// retryAccess spaces the checks of a namespace that cannot be served: soon after the first, so that
// a RoleBinding which arrives a moment after its Tenant is no wait, and every 15 s in the long run.
var retryAccess = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.6, Jitter: 0.2, Steps: 100, Cap: 15 * time.Second}

// confirmLoss spaces the checks after a sign that a right was lost. The API server's authorizer
// learns of a deleted RoleBinding by a watch of its own, so the first answer may still be yes.
var confirmLoss = []time.Duration{0, 250 * time.Millisecond, time.Second, 3 * time.Second}

// engagement serves one namespace, from its assignment until the end.
type engagement struct {
	registry     *Registry
	name, tenant string
	wake         chan struct{}
	late         chan struct{} // the cluster got or lost a late kind, or one that was left out is to be tried again
	end          context.CancelFunc

	// Of the goroutine of run alone:
	lateBackoff wait.Backoff
	lateTimer   *time.Timer
	trouble     repetition

	// Guarded by registry.mu:
	state     State
	namespace *Namespace // nil while the namespace is not served
	settled   bool       // whether the first try to serve it has ended, well or not
	attach    func(*subscription)
	cached    map[schema.GroupKind]string // the late kinds that the cache has, with their versions
	omitted   map[schema.GroupKind]error  // the late kinds that the cluster has and the cache has not, with the cause
}

func newEngagement(r *Registry, name, tenant string) *engagement {
	return &engagement{
		registry: r, name: name, tenant: tenant,
		wake:  make(chan struct{}, 1),
		late:  make(chan struct{}, 1),
		end:   func() {},
		state: State{State: v1alpha1.NamespacePending, Reason: v1alpha1.ReasonCacheNotSynced, Message: "the operator is about to read the namespace"},
	}
}

// wakeUp has the access checked again, now.
func (e *engagement) wakeUp() {
	select {
	case e.wake <- struct{}{}:
	default: // a check is due already
	}
}

// lookAgain has the late kinds looked at again, soon.
func (e *engagement) lookAgain() {
	select {
	case e.late <- struct{}{}:
	default: // it is due already
	}
}

// run alternates between waiting for access and serving the namespace.
func (e *engagement) run(ctx context.Context) {
	defer e.disengage()
	log := logf.FromContext(ctx).WithName("tenancy").WithValues("namespace", e.name, "tenant", e.tenant)
	backoff := retryAccess
	for ctx.Err() == nil {
		started := time.Now()
		err := e.serve(ctx)
		if ctx.Err() != nil {
			break
		}
		state := State{State: v1alpha1.NamespaceRefused, Reason: v1alpha1.ReasonAccessDenied, Message: err.Error()}
		if denied := (*AccessDeniedError)(nil); !errors.As(err, &denied) {
			state = State{State: v1alpha1.NamespacePending, Reason: v1alpha1.ReasonCacheNotSynced, Message: err.Error()}
		}
		if e.trouble.due(state.Reason, time.Now()) {
			log.Info("Namespace is not served", "reason", state.Reason, "message", state.Message)
		}
		e.registry.set(e, state, nil)
		if time.Since(started) > retryAccess.Cap {
			backoff = retryAccess // it was served in between
		}
		e.sleep(ctx, backoff.Step())
	}
}

// serve fills the namespace's caches and attaches the controllers to them. It returns when the
// namespace cannot be served or no longer.
func (e *engagement) serve(ctx context.Context) error {
	if err := e.registry.access.check(ctx, e.name); err != nil {
		return err
	}
	e.forgetLate()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the cache, and with it the informers and what was attached to them
	defer func() {
		if e.lateTimer != nil {
			e.lateTimer.Stop()
		}
	}()

	objects, err := e.startCache(ctx)
	if err != nil {
		return err
	}
	e.followLate(ctx, objects)
	e.engage(ctx, objects)
	e.trouble.reset()
	logf.FromContext(ctx).WithName("tenancy").Info("Serving namespace", "namespace", e.name, "tenant", e.tenant)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-e.wake:
			lost, err := e.confirm(ctx)
			if err != nil {
				return err
			}
			for _, kind := range lost {
				e.stopLate(ctx, objects, kind)
			}
			e.followLate(ctx, objects)
		case <-e.late:
			e.followLate(ctx, objects)
		}
	}
}

// startCache starts a cache of the namespace and waits until it is filled.
func (e *engagement) startCache(ctx context.Context) (cache.Cache, error) {
	options := e.registry.options
	var lastWatchError atomic.Pointer[error]
	binding := &metav1.PartialObjectMetadata{}
	binding.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("RoleBinding"))
	objects, err := cache.New(options.Config, cache.Options{
		HTTPClient:        options.HTTPClient,
		Scheme:            options.Scheme,
		Mapper:            options.Mapper,
		DefaultNamespaces: map[string]cache.Config{e.name: {}},
		DefaultTransform:  options.Transform,
		ByObject: map[client.Object]cache.ByObject{
			binding: {Field: fields.OneTermEqualSelector(metav1.ObjectNameField, RoleBindingName), Transform: cache.TransformStripManagedFields()},
		},
		ReaderFailOnMissingInformer: true,
		DefaultWatchErrorHandler: func(ctx context.Context, r *toolscache.Reflector, err error) {
			lastWatchError.Store(&err)
			if apierrors.IsForbidden(err) {
				e.wakeUp() // the Tenant's status says what comes of it, which is no error of the operator
				return
			}
			toolscache.DefaultWatchErrorHandler(ctx, r, err)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cache of namespace %s: %w", e.name, err)
	}
	go func() {
		if err := objects.Start(ctx); err != nil {
			logf.FromContext(ctx).Error(err, "Cache ended", "namespace", e.name)
		}
	}()

	// Not named ctx: the goroutine above would see it, and the cache end with this function.
	syncing, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	informer, err := objects.GetInformer(syncing, binding)
	for _, kind := range options.Kinds {
		if err == nil {
			_, err = objects.GetInformer(syncing, kind)
		}
	}
	// GetInformer waits only if the cache runs already.
	if err == nil && !objects.WaitForCacheSync(syncing) {
		err = syncing.Err()
	}
	if cause := lastWatchError.Load(); err != nil && cause != nil {
		err = *cause // more telling than that time ran out
	}
	if err != nil {
		return nil, fmt.Errorf("the objects of namespace %s could not be read within %s: %w", e.name, syncTimeout, err)
	}
	_, err = informer.AddEventHandler(e.bindingEvents())
	return objects, err
}

// bindingEvents has the access checked when the operator's RoleBinding changes or goes.
func (e *engagement) bindingEvents() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			if resourceVersionOf(before) != resourceVersionOf(after) { // else it is a resync, and nothing has changed
				e.wakeUp()
			}
		},
		DeleteFunc: func(any) { e.wakeUp() },
	}
}

// engage makes the namespace known as served, then attaches what has subscribed: in the other order
// a controller would look up the namespace of the first objects in vain and drop them.
func (e *engagement) engage(ctx context.Context, objects cache.Cache) {
	r := e.registry
	r.mu.RLock()
	state := State{State: v1alpha1.NamespaceEngaged, Reason: v1alpha1.ReasonEngaged, Message: omittedMessage(e.omitted)}
	r.mu.RUnlock()
	r.set(e, state, &Namespace{Name: e.name, Tenant: e.tenant, Reader: objects, Omitted: e.omittedBefore})
	r.mu.Lock()
	defer r.mu.Unlock()
	e.attach = func(s *subscription) { s.start(ctx, objects, e.cached) }
	for _, s := range r.subscriptions {
		e.attach(s)
	}
}

// disengage makes the namespace unknown, without a word to anybody: it is no longer assigned, or
// the operator ends.
func (e *engagement) disengage() {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.namespace, e.attach = nil, nil
}

// confirm checks after a sign of lost access whether it is really lost: an error says that the
// namespace can no longer be served, lost are the late kinds that can no longer be read. No answer
// is no loss.
func (e *engagement) confirm(ctx context.Context) (lost []schema.GroupVersionKind, err error) {
	for _, delay := range confirmLoss {
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(delay):
		}
		err := e.registry.access.check(ctx, e.name)
		if denied := (*AccessDeniedError)(nil); errors.As(err, &denied) {
			return nil, err
		}
		for _, kind := range e.lostLate(ctx) {
			if !slices.Contains(lost, kind) {
				lost = append(lost, kind)
			}
		}
	}
	return lost, nil
}

// resourceVersionOf returns the resource version of what an informer hands out, which is an object.
func resourceVersionOf(object any) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return accessor.GetResourceVersion()
}

// sleep waits, or until it is woken up.
func (e *engagement) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-e.wake:
	}
}
