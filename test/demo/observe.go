package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/controlee/controlee/test/demo/internal/tell"
)

// observer sees every state of one object as it comes, so that even one that stands for a few milliseconds is seen
// and timed.
type observer[T client.Object] struct {
	events chan sighting[T]
}

// sighting is a state of an object and when it was seen.
type sighting[T client.Object] struct {
	at      time.Time
	object  T
	deleted bool
}

// observe watches an object until the context ends. The first sighting is the object as it is, if it is there.
func observe[T client.Object](ctx context.Context, c client.WithWatch, list client.ObjectList, namespace, name string) (*observer[T], error) {
	start := func() (watch.Interface, error) {
		return c.Watch(ctx, list, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
	}
	first, err := start()
	if err != nil {
		return nil, fmt.Errorf("watch %s/%s: %w", namespace, name, err)
	}
	o := &observer[T]{events: make(chan sighting[T], 100)}
	go func() {
		for w, err := first, error(nil); ctx.Err() == nil; w, err = start() {
			if err == nil {
				o.follow(ctx, w)
			}
			select { // an API server or a proxy ends a watch now and then
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return o, nil
}

func (o *observer[T]) follow(ctx context.Context, w watch.Interface) {
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-w.ResultChan():
			if !open {
				return
			}
			if object, ok := event.Object.(T); ok {
				select {
				case o.events <- sighting[T]{at: time.Now(), object: object, deleted: event.Type == watch.Deleted}:
				case <-ctx.Done():
				}
			}
		}
	}
}

// until returns the next sighting that look says is the one, which also says in words what it saw.
func (o *observer[T]) until(ctx context.Context, expected string, look func(sighting[T]) (bool, string)) (sighting[T], error) {
	limit := time.After(patience)
	seen := "nothing"
	for {
		select {
		case s := <-o.events:
			var ok bool
			if ok, seen = look(s); ok {
				return s, nil
			}
		case <-ctx.Done():
			return sighting[T]{}, context.Cause(ctx)
		case <-limit:
			return sighting[T]{}, &tell.MismatchError{Expected: expected + " within " + tell.Duration(patience), Seen: seen}
		}
	}
}
