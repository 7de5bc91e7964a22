package claim

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// SweepOptions say how what is left behind is looked for.
type SweepOptions struct {
	// Interval is the time between two sweeps. The first is when the operator begins to lead.
	Interval time.Duration
	// DryRun only reports.
	DryRun bool
	// Late are the kinds of object that Bars are made into besides Services, where the cluster has
	// them.
	Late *tenancy.LateKinds
}

// sweep looks for what is left behind of events that nobody saw, both ways: Bars without a source,
// and objects of a Bar that is gone.
type sweep struct {
	options         SweepOptions
	registry        *tenancy.Registry
	served          func() []*tenancy.Namespace
	reconcilers     map[v1alpha1.BarSourceKind]*Reconciler
	systemNamespace string
	cached          client.Reader // Bars
	direct          client.Client
}

// barKind is how metrics and log lines name a Bar.
const barKind = "Bar"

// NeedLeaderElection says that the leader alone sweeps.
func (s *sweep) NeedLeaderElection() bool { return true }

// afterEngagement is how long the sweep waits when a namespace has begun to be served: others may
// do so at the same time, and the sources there get their Bars first.
const afterEngagement = time.Second

// Start sweeps once all caches are filled, and then again and again until ctx is done, and whenever
// a namespace begins to be served: its objects may have lost their Bars while it was not.
func (s *sweep) Start(ctx context.Context) error {
	ctx = logf.IntoContext(ctx, logf.FromContext(ctx).WithName("orphan-sweep").WithValues("dryRun", s.options.DryRun))
	filled := func(context.Context) (bool, error) { return s.registry.Synced(nil) == nil, nil }
	if err := wait.PollUntilContextCancel(ctx, time.Second, true, filled); err != nil {
		return nil //nolint:nilerr // the operator ends
	}
	engaged, err := s.watchEngagements(ctx)
	if err != nil {
		return err
	}
	for due := time.After(afterEngagement); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-engaged:
			due = time.After(afterEngagement)
		case <-due:
			s.run(ctx)
			due = time.After(retry.Jitter(s.options.Interval))
		}
	}
}

// watchEngagements tells that a namespace with sources begins to be served.
func (s *sweep) watchEngagements(ctx context.Context) (<-chan struct{}, error) {
	engaged := make(chan struct{}, 1)
	tell := handler.Funcs{CreateFunc: func(_ context.Context, e event.CreateEvent, _ tenancy.Queue) {
		if !e.IsInInitialList {
			return
		}
		select {
		case engaged <- struct{}{}:
		default: // it was told, and not heard yet
		}
	}}
	for _, k := range kinds {
		if err := s.registry.Source(k.object(), tell).Start(ctx, nil); err != nil {
			return nil, err
		}
	}
	return engaged, nil
}

// run looks once. What cannot be decided now is left to the next time.
func (s *sweep) run(ctx context.Context) {
	found := &findings{dryRun: s.options.DryRun, left: map[string]int{barKind: 0}, undecided: map[string]bool{}}
	bars, err := s.bars(ctx)
	if err != nil {
		found.missed(ctx, barKind, s.systemNamespace, err)
	}
	for _, bar := range bars {
		r, known := s.reconcilers[bar.Spec.SourceRef.Kind]
		if !known { // such as one that a later version of the operator made
			found.missed(ctx, barKind, s.systemNamespace,
				fmt.Errorf("the source of Bar %s is of kind %q, which this version of the operator does not know", bar.Name, bar.Spec.SourceRef.Kind))
			continue
		}
		found.handle(ctx, barKind, bar,
			func() (bool, error) { return r.hasNoSource(ctx, bar) },
			func() error { _, err := r.release(ctx, bar); return err })
	}
	for _, kind := range s.objectKinds() {
		found.left[kind.Kind] = 0
		for _, namespace := range s.served() {
			objects, err := s.objects(ctx, namespace, kind)
			if err != nil {
				found.missed(ctx, kind.Kind, namespace.Name, err)
			}
			for _, object := range objects {
				found.handle(ctx, kind.Kind, object,
					func() (bool, error) { return s.hasNoBar(ctx, namespace, kind.Kind, object) },
					func() error { return s.remove(ctx, object) })
			}
		}
	}
	for kind, n := range found.left {
		if !found.undecided[kind] { // else the last number is more true than what a part of the objects gives
			orphans.WithLabelValues(kind).Set(float64(n))
		}
	}
}

// findings counts, by kind, the orphans that one sweep leaves.
type findings struct {
	dryRun    bool
	left      map[string]int
	undecided map[string]bool // kinds of which some objects could not be judged
}

// missed records that some objects of a kind could not be judged.
func (f *findings) missed(ctx context.Context, kind, namespace string, err error) {
	f.undecided[kind] = true
	logf.FromContext(ctx).Info("Could not look for orphans; the next sweep will", "kind", kind, "namespace", namespace, "error", err.Error())
}

// handle removes an object, if it is an orphan and not only to be reported.
func (f *findings) handle(ctx context.Context, kind string, object client.Object, isOrphan func() (bool, error), remove func() error) {
	log := logf.FromContext(ctx).WithValues("kind", kind, "namespace", object.GetNamespace(), "name", object.GetName(), "uid", object.GetUID())
	orphan, err := isOrphan()
	switch {
	case err != nil:
		f.undecided[kind] = true
		log.Error(err, "Could not tell whether this is an orphan")
		return
	case !orphan:
		return
	case f.dryRun:
		f.left[kind]++
		log.Info("Found an orphan")
		return
	}
	if err := remove(); err != nil {
		f.left[kind]++
		log.Error(err, "Could not remove an orphan")
		return
	}
	orphansRemoved.WithLabelValues(kind).Inc()
	log.Info("Removed an orphan")
}

// bars gives the Bars that are not being released.
func (s *sweep) bars(ctx context.Context) (bars []*v1alpha1.Bar, err error) {
	list := &v1alpha1.BarList{}
	if err := s.cached.List(ctx, list, client.InNamespace(s.systemNamespace)); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if !list.Items[i].Spec.Release {
			bars = append(bars, &list.Items[i])
		}
	}
	return bars, nil
}

// hasNoSource says whether the source of a Bar is gone or going, or its whole namespace is gone.
// What a cache says is confirmed live.
func (r *Reconciler) hasNoSource(ctx context.Context, bar *v1alpha1.Bar) (bool, error) {
	ref := bar.Spec.SourceRef
	namespace, served := r.namespaces.Lookup(ref.Namespace)
	if !served {
		if _, lost := r.namespaces.LostSince(ref.Namespace); !lost {
			return false, nil
		}
		return r.namespaces.IsGone(ctx, ref.Namespace, bar.CreationTimestamp)
	}
	for _, reader := range []client.Reader{namespace, r.direct} {
		source, err := r.kind.read(ctx, reader, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name})
		if err != nil || source != nil && source.GetUID() == ref.UID && !isGoing(source) {
			return false, err
		}
	}
	return true, nil
}
