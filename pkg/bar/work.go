package bar

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

const (
	// untilServed is how long a Bar waits while it is not known whether its namespace can be
	// served.
	untilServed = 2 * time.Second
	// untilGone is how long an object that is being deleted may take before it is looked at again,
	// should its last event have been missed.
	untilGone = time.Minute
)

// errStale says that the cache does not have the Bar as it is now.
var errStale = apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("bars").GroupResource(), "", errors.New("the Bar has changed meanwhile"))

// work is one Bar in hand.
type work struct {
	*Reconciler
	bar     *v1alpha1.Bar      // as the API server has it, as far as is known
	next    v1alpha1.BarStatus // what the status is to become
	parts   []part             // what the provider wants; nil while that is not known
	fresh   bool               // whether bar was written or read live in this reconcile
	claimed bool               // whether the Bar has claimed the exclusive names that it needs

	namespace *tenancy.Namespace // of the source; nil while it is not served
	refused   []hindrance        // deletions that the API server refused, of a Bar that is released
}

func newWork(r *Reconciler, bar *v1alpha1.Bar) *work {
	return &work{Reconciler: r, bar: bar, next: *bar.Status.DeepCopy()}
}

// write writes the status, if it differs, step by step where the table of phases has no direct way.
func (w *work) write(ctx context.Context) error {
	if equality.Semantic.DeepEqual(w.bar.Status, w.next) {
		return nil
	}
	steps := way(w.bar.Status.Phase, w.next.Phase)
	for _, phase := range steps[:max(len(steps)-1, 0)] {
		between := *w.bar.Status.DeepCopy()
		between.Phase = phase
		if err := w.writeStatus(ctx, between); err != nil {
			return err
		}
	}
	if err := w.writeStatus(ctx, w.next); err != nil {
		return err
	}
	w.next = *w.bar.Status.DeepCopy()
	w.owners.wrote(w.bar)
	return nil
}

// writeStatus carries the resource version: who acts on an old status would do again what has been
// undone since.
func (w *work) writeStatus(ctx context.Context, status v1alpha1.BarStatus) error {
	changed := w.bar.DeepCopy()
	changed.Status = status
	patch := client.MergeFromWithOptions(w.bar, client.MergeFromWithOptimisticLock{})
	if err := w.Client.Status().Patch(ctx, changed, patch); err != nil {
		return staleIfGone(err)
	}
	w.announce(w.bar, changed)
	w.bar, w.fresh = changed, true
	w.owners.sawBar(w.bar)
	return nil
}

// confirm reads the Bar live, unless this reconcile has written it: nothing is made or deleted
// because of what a cache still holds.
func (w *work) confirm(ctx context.Context) error {
	if w.fresh {
		return nil
	}
	live := &v1alpha1.Bar{}
	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(w.bar), live); err != nil {
		return staleIfGone(err)
	}
	if live.UID != w.bar.UID || live.ResourceVersion != w.bar.ResourceVersion {
		return errStale
	}
	w.fresh = true
	return nil
}

func staleIfGone(err error) error {
	if apierrors.IsNotFound(err) {
		return errStale
	}
	return err
}

// classOf reads the Bar's class.
func (w *work) classOf(ctx context.Context) (*v1alpha1.BarClass, provider.Provider, error) {
	name := w.bar.Spec.ClassName
	class := &v1alpha1.BarClass{}
	if err := w.Cache.Get(ctx, client.ObjectKey{Name: name}, class); err != nil {
		if apierrors.IsNotFound(err) {
			err = provider.Refuse(v1alpha1.ReasonBarClassNotFound, "there is no BarClass %q: choose one that your platform offers", name)
		}
		return nil, nil, err
	}
	chosen, err := w.Providers.For(class)
	return class, chosen, err
}

// read completes the wanted objects and finds the live ones: in the namespace's cache, and where
// that has none, at the API server.
func (w *work) read(ctx context.Context, namespace *tenancy.Namespace, objects []provider.Object) ([]part, error) {
	parts := make([]part, len(objects))
	for i, object := range objects {
		gvk := object.GroupVersionKind()
		if w.Late.IsLate(gvk.GroupKind()) {
			version, err := w.Late.Version(gvk.GroupKind())
			if err != nil {
				return nil, err
			}
			if err := namespace.Denied(gvk.GroupKind()); err != nil {
				return nil, err
			}
			gvk.Version = version
		}
		parts[i] = newPart(w.bar, object, gvk)
		live, err := w.newLive(gvk)
		if err != nil {
			return nil, err
		}
		key := client.ObjectKeyFromObject(parts[i].Object)
		err = namespace.Get(ctx, key, live)
		if notCached := (*cache.ErrResourceNotCached)(nil); apierrors.IsNotFound(err) || errors.As(err, &notCached) {
			err = w.Client.Get(ctx, key, live)
		}
		if isVersionMissing(err) {
			// The cluster has changed since it was asked which kinds it has. That says nothing of
			// the object.
			return nil, errors.Join(err, w.Late.Ask(ctx))
		}
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		parts[i].live = live
	}
	return parts, nil
}

// newLive gives an empty object of a kind, as the caches hold it.
func (w *work) newLive(gvk schema.GroupVersionKind) (client.Object, error) {
	if !w.Client.Scheme().Recognizes(gvk) {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(gvk)
		return object, nil
	}
	object, err := w.Client.Scheme().New(gvk)
	if err != nil {
		return nil, err
	}
	live, ok := object.(client.Object)
	if !ok {
		return nil, errors.New(gvk.String() + " is no kind of object")
	}
	return live, nil
}

// plan writes down what is about to be made.
func (w *work) plan(ctx context.Context, class *v1alpha1.BarClass) error {
	targets := planned(w.next.Targets, w.parts, class, metav1.Now())
	if equality.Semantic.DeepEqual(targets, w.next.Targets) {
		return nil
	}
	w.next = provisioning(w.bar, targets)
	return w.write(ctx)
}

// ensure makes or mends one object, and notes in the status to be that it exists.
func (w *work) ensure(ctx context.Context, part *part) error {
	if err := part.mustBeOurs(w.bar); err != nil {
		return err
	}
	created := part.live.GetUID() == ""
	if created {
		if err := w.confirm(ctx); err != nil {
			return err
		}
	}
	before := part.live.GetResourceVersion()
	if err := w.Writer.EnsureControlled(ctx, controllerOf(w.bar), part.live, client.ApplyConfigurationFromUnstructured(part.Object)); err != nil {
		return err
	}
	switch {
	case created:
		w.tell(eventCreated, part.Object.GetKind(), part.Object.GetName())
	case part.live.GetResourceVersion() != before:
		w.tell(eventUpdated, part.Object.GetKind(), part.Object.GetName())
	}
	w.next.Targets = applied(w.next.Targets, part, metav1.Now())
	return nil
}

// retire marks targets for deletion, with the UID of what is to be deleted, and drops those that do
// not exist. A target that cannot be read keeps none of the others.
func (w *work) retire(ctx context.Context, targets []v1alpha1.BarTarget) error {
	var errs []error
	for i := range targets {
		if w.denied(&targets[i]) != nil {
			continue
		}
		live, err := w.readTarget(ctx, &targets[i])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		var uid types.UID
		if live != nil && (live.UID == targets[i].UID || isOurs(w.bar, live)) {
			uid = live.UID
		}
		w.next.Targets = deleting(w.next.Targets, keyOf(&targets[i]), uid, metav1.Now())
	}
	return errors.Join(errs...)
}

// clear deletes what is marked for deletion, the last made first, and drops from the status to be
// what is gone. It gives what is left. A target that cannot be deleted keeps none of the others.
func (w *work) clear(ctx context.Context) (left []client.Object, err error) {
	marked := slices.DeleteFunc(marked(w.next.Targets), func(target v1alpha1.BarTarget) bool { return w.denied(&target) != nil })
	if len(marked) == 0 {
		return nil, nil
	}
	if err := w.confirm(ctx); err != nil {
		return nil, err
	}
	var errs []error
	for i := len(marked) - 1; i >= 0; i-- {
		live, err := w.deleteTarget(ctx, &marked[i])
		switch refusal, passing := w.refusalToDelete(err); {
		case passing != nil:
			errs = append(errs, passing)
		case refusal != nil:
			w.refused = append(w.refused, hindrance{target: marked[i], Refusal: *refusal})
		case live == nil:
			w.next.Targets = without(w.next.Targets, keyOf(&marked[i]))
		default:
			left = append(left, live)
		}
	}
	return left, errors.Join(errs...)
}

// deleteTarget deletes one object by its UID, as it was just read, and gives it as it is then, nil
// when it is gone.
func (w *work) deleteTarget(ctx context.Context, target *v1alpha1.BarTarget) (*metav1.PartialObjectMetadata, error) {
	live, err := w.readTarget(ctx, target)
	if err != nil || live == nil || live.UID != target.UID {
		return nil, err
	}
	if !live.DeletionTimestamp.IsZero() {
		return live, nil
	}
	preconditions := client.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion}
	err = w.Client.Delete(ctx, live, preconditions, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	w.tell(eventDeleted, target.Kind, target.Name)
	// Another controller's finalizer, such as a cloud's, may hold it. Its last event brings the Bar
	// back.
	live, err = w.readTarget(ctx, target)
	if live != nil && live.UID != target.UID {
		return nil, err
	}
	return live, err
}

// deleteBar deletes the Bar itself, exactly as it was last written.
func (w *work) deleteBar(ctx context.Context) error {
	if err := w.confirm(ctx); err != nil {
		return err
	}
	preconditions := client.Preconditions{UID: &w.bar.UID, ResourceVersion: &w.bar.ResourceVersion}
	err := w.Client.Delete(ctx, w.bar, preconditions)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	w.owners.deleted(w.bar)
	return nil
}

// result says when to look again.
func (w *work) result(refusal *retry.Refusal, hindrances []hindrance) reconcile.Result {
	result := refusal.Result()
	if result.IsZero() && len(hindrances) > 0 {
		return hindrances[0].Result()
	}
	if result.IsZero() && len(marked(w.next.Targets)) > 0 {
		return reconcile.Result{RequeueAfter: retry.Jitter(untilGone)}
	}
	return result
}
