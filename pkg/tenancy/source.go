package tenancy

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Queue is a controller's work queue.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// subscription brings the events of one kind, of all served namespaces, into a controller's queue.
type subscription struct {
	kind    client.Object    // nil for a late kind
	late    schema.GroupKind // set for a late kind
	handler handler.EventHandler
	queue   Queue
}

// start attaches to a cache. cached holds the late kinds that the cache has, with their versions.
func (s *subscription) start(ctx context.Context, objects cache.Cache, cached map[schema.GroupKind]string) {
	kind := s.kind
	if kind == nil {
		version := cached[s.late]
		if version == "" {
			return // it is attached when the kind appears
		}
		kind = lateObject(s.late.WithVersion(version))
	}
	if err := source.Kind(objects, kind, s.handler).Start(ctx, s.queue); err != nil {
		// Only a nil argument can be the cause.
		logf.FromContext(ctx).Error(err, "Could not attach to the cache", "kind", fmt.Sprintf("%T", s.kind))
	}
}

// Source gives a controller the events of one of Options.Kinds from every namespace that is served, now and later.
// For a namespace that begins to be served all its objects arrive as created.
func (r *Registry) Source(kind client.Object, h handler.EventHandler) source.Source {
	return r.subscribe(subscription{kind: kind, handler: h})
}

// LateSource does the same for a kind of Options.Late, from when the cluster has it.
func (r *Registry) LateSource(kind schema.GroupKind, h handler.EventHandler) source.Source {
	return r.subscribe(subscription{late: kind, handler: h})
}

func (r *Registry) subscribe(s subscription) source.Source {
	return source.Func(func(_ context.Context, queue Queue) error {
		s.queue = queue
		r.mu.Lock()
		defer r.mu.Unlock()
		r.subscriptions = append(r.subscriptions, &s)
		for _, e := range r.engagements {
			if e.attach != nil {
				e.attach(&s)
			}
		}
		return nil
	})
}
