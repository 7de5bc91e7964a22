package tenancy

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// retryLate is how long a late kind that could not be read waits. A CRD that was just made may not be served yet.
const retryLate = 5 * time.Second

// lateObject is what a late kind is cached as.
func lateObject(kind schema.GroupVersionKind) client.Object {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// followLate brings the cache in line with the late kinds that the cluster has. One that cannot be read is left out, and tried again: it
// must not cost the namespace all others.
func (e *engagement) followLate(ctx context.Context, objects cache.Cache) {
	present := e.registry.options.Late.present()
	for kind, version := range e.lateCached() {
		if present[kind] == version {
			delete(present, kind)
			continue
		}
		e.setLate(kind, "")
		if err := objects.RemoveInformer(ctx, lateObject(kind.WithVersion(version))); err != nil {
			logf.FromContext(ctx).Error(err, "Could not stop to watch a kind that is gone", "namespace", e.name, "kind", kind.String())
		}
	}
	for kind, version := range present {
		syncing, cancel := context.WithTimeout(ctx, retryLate)
		_, err := objects.GetInformer(syncing, lateObject(kind.WithVersion(version)))
		cancel()
		if err != nil {
			logf.FromContext(ctx).Info("Could not read a kind", "namespace", e.name, "kind", kind.String(), "error", err.Error())
			time.AfterFunc(retryLate, e.lookAgain)
			continue
		}
		e.setLate(kind, version)
		e.attachLate(kind)
	}
}

// forgetLate begins anew, with a new cache.
func (e *engagement) forgetLate() {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.cached = map[schema.GroupKind]string{}
}

func (e *engagement) lateCached() map[schema.GroupKind]string {
	e.registry.mu.RLock()
	defer e.registry.mu.RUnlock()
	return maps.Clone(e.cached)
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
