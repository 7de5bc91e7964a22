package tenancy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// lateSyncTimeout is how long the cache of a late kind may take to fill. A CRD that was just made may not be served yet.
const lateSyncTimeout = 5 * time.Second

// retryLate spaces the tries of the late kinds that could not be read.
var retryLate = wait.Backoff{Duration: 5 * time.Second, Factor: 2, Jitter: 0.2, Steps: 100, Cap: 2 * time.Minute}

// lateObject is what a late kind is cached as.
func lateObject(kind schema.GroupVersionKind) client.Object {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// followLate brings the cache in line with the late kinds that the cluster has. One that the operator may not read in this namespace,
// or that cannot be read now, is left out and tried again: it must not cost the namespace all others.
func (e *engagement) followLate(ctx context.Context, objects cache.Cache) {
	present := e.registry.options.Late.present()
	for kind, version := range e.lateCached() {
		if present[kind] == version {
			delete(present, kind)
			continue
		}
		e.stopLate(ctx, objects, kind.WithVersion(version))
	}
	omitted := map[schema.GroupKind]error{}
	for kind, version := range present {
		if err := e.startLate(ctx, objects, kind.WithVersion(version)); err != nil {
			omitted[kind] = err
		}
	}
	if ctx.Err() != nil {
		return
	}
	for kind, err := range omitted {
		if before := e.omittedBefore(kind); before == nil || !isSameMessage(before.Error(), err.Error()) {
			logf.FromContext(ctx).Info("The namespace is served without a kind", "namespace", e.name, "kind", kind.String(), "error", err.Error())
		}
	}
	e.registry.setOmitted(e, omitted)
	if e.lateTimer != nil {
		e.lateTimer.Stop()
	}
	if len(omitted) == 0 {
		e.lateBackoff = retryLate
		return
	}
	e.lateTimer = time.AfterFunc(e.lateBackoff.Step(), e.lookAgain)
}

// startLate caches a late kind, and attaches the controllers to it.
func (e *engagement) startLate(ctx context.Context, objects cache.Cache, kind schema.GroupVersionKind) error {
	if err := e.registry.access.checkOptional(ctx, e.name, kind); err != nil {
		return err
	}
	syncing, cancel := context.WithTimeout(ctx, lateSyncTimeout)
	defer cancel()
	if _, err := objects.GetInformer(syncing, lateObject(kind)); err != nil {
		e.removeInformer(ctx, objects, kind) // it would go on to list and watch what nobody reads
		return fmt.Errorf("%s could not be read within %s: %w", kind.Kind, lateSyncTimeout, err)
	}
	e.setLate(kind.GroupKind(), kind.Version)
	e.attachLate(kind.GroupKind())
	return nil
}

// stopLate takes a late kind out of the cache: the cluster has it no longer, or the operator may not read it.
func (e *engagement) stopLate(ctx context.Context, objects cache.Cache, kind schema.GroupVersionKind) {
	e.setLate(kind.GroupKind(), "")
	e.removeInformer(ctx, objects, kind)
}

// removeInformer ends the informer of a late kind, if there is one.
func (e *engagement) removeInformer(ctx context.Context, objects cache.Cache, kind schema.GroupVersionKind) {
	if err := objects.RemoveInformer(ctx, lateObject(kind)); err != nil {
		logf.FromContext(ctx).Error(err, "Could not stop to watch a kind", "namespace", e.name, "kind", kind.GroupKind().String())
	}
}

// lostLate returns the late kinds that the cache has although the operator may no longer read them. No answer is no loss.
func (e *engagement) lostLate(ctx context.Context) (lost []schema.GroupVersionKind) {
	for kind, version := range e.lateCached() {
		err := e.registry.access.checkOptional(ctx, e.name, kind.WithVersion(version))
		if denied := (*AccessDeniedError)(nil); errors.As(err, &denied) {
			lost = append(lost, kind.WithVersion(version))
		}
	}
	return lost
}

// omittedMessage says which kinds a namespace is served without, and why.
func omittedMessage(omitted map[schema.GroupKind]error) string {
	var messages []string
	for kind, err := range omitted {
		messages = append(messages, fmt.Sprintf("served without %s: %s", kind.Kind, err))
	}
	slices.Sort(messages)
	return strings.Join(messages, "; ")
}

// forgetLate begins anew, with a new cache.
func (e *engagement) forgetLate() {
	e.lateBackoff = retryLate
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.cached, e.omitted = map[schema.GroupKind]string{}, nil
}

func (e *engagement) lateCached() map[schema.GroupKind]string {
	e.registry.mu.RLock()
	defer e.registry.mu.RUnlock()
	return maps.Clone(e.cached)
}

// omittedBefore returns why a kind was left out at the last try, nil if it was not.
func (e *engagement) omittedBefore(kind schema.GroupKind) error {
	e.registry.mu.RLock()
	defer e.registry.mu.RUnlock()
	return e.omitted[kind]
}

func (e *engagement) setLate(kind schema.GroupKind, version string) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	if version == "" {
		delete(e.cached, kind)
		return
	}
	e.cached[kind] = version
}

// attachLate attaches what has subscribed to a kind that has just appeared. Before the namespace is engaged there is nothing to do:
// engaging it attaches all.
func (e *engagement) attachLate(kind schema.GroupKind) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	if e.attach == nil {
		return
	}
	for _, s := range e.registry.subscriptions {
		if s.late == kind {
			e.attach(s)
		}
	}
}
