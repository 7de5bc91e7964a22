package bar

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// errNotSynced says that nothing exclusive can be granted yet.
var errNotSynced = errors.New("the caches of the namespaces are not filled yet, so it is not known which host names are in use")

// untilSynced is how long a Bar waits that needs an exclusive name before the caches are filled.
const untilSynced = time.Second

// takenError says that an exclusive name is another's.
type takenError struct {
	retry.Refusal
	name string
	lost bool // the Bar has objects that use it, and has to give them up
}

// Error is the message for the tenant.
func (e *takenError) Error() string { return e.Message }

// acquire claims the exclusive names of all parts. It asks the API server only where an object
// seems to be in the way, and once for all Bars, before the first name is granted.
func (w *work) acquire(ctx context.Context) error {
	needs := w.needs()
	for i := range needs {
		if needs[i].known {
			continue
		}
		if err := w.prepareOwners(ctx); err != nil {
			return err
		}
		break
	}
	w.claimed = true
	answer := w.owners.claim(w.bar, needs, false)
	if len(answer.doubts) > 0 {
		for i := range answer.doubts {
			if err := w.verify(ctx, &answer.doubts[i]); err != nil {
				return err
			}
		}
		answer = w.owners.claim(w.bar, needs, true)
	}
	if answer.refused == nil {
		return nil
	}
	taken := &takenError{name: answer.refused.Key, lost: answer.lost}
	taken.Reason, taken.Message = answer.refused.Reason, answer.refused.Message
	if u := answer.user; u != nil {
		taken.After = retry.AfterRefusal // a namespace that is gone sends no event
		if ready := meta.FindStatusCondition(w.bar.Status.Conditions, v1alpha1.BarReady); ready == nil || ready.Reason != taken.Reason {
			// The message is for a tenant, who must not read what others have.
			logf.FromContext(ctx).Info("An exclusive name is in use", "name", taken.name, "bar", w.bar.Name, "kind", u.kind, "object", u.namespace+"/"+u.name)
		}
		if u.namespace == w.bar.Spec.SourceRef.Namespace && u.bar == "" {
			taken.Message = fmt.Sprintf("the %s is in use by %s %s of this namespace, which was not made for a load balancer: delete that, or rename this object",
				answer.refused.Name, u.kind, u.name)
		}
	}
	return taken
}

// dropUnused drops grants that the Bar has not recorded and does not need now. A status that
// records one may have been written although its answer was lost, so the Bar is read live first: if
// it is as this reconcile knows it, no such status was written.
func (w *work) dropUnused(ctx context.Context) error {
	if !w.owners.hasGrant(w.bar.Name) {
		return nil
	}
	w.fresh = false
	if err := w.confirm(ctx); err != nil {
		return err
	}
	w.owners.wrote(w.bar)
	return nil
}

// needs lists the exclusive names of the parts, and which of them the Bar has already: by its
// targets, or, if it is a new Bar of a source that had one, by a live object that was made for that
// one.
func (w *work) needs() (needs []need) {
	recorded := heldBy(w.bar)
	for i := range w.parts {
		p := &w.parts[i]
		if p.exclusive == nil {
			continue
		}
		n := need{Exclusive: p.exclusive}
		n.mine, n.known = recorded[p.exclusive.Key]
		n.has = n.known
		if live, ok := p.live.(*unstructured.Unstructured); ok && live.GetUID() != "" {
			w.owners.sawObject(live, w.Providers.Uses(live))
			if isOurs(w.bar, live) && !n.has {
				n.has, n.mine = true, hold{object: p.key(), since: live.GetCreationTimestamp().Time}
			}
		}
		needs = append(needs, n)
	}
	return needs
}

// prepareOwners makes the view of owners complete before a name is granted. The Bars are listed
// live once, because the cache of a new leader can be behind what the old leader has written. The
// routes of a namespace are read from its cache once for each engagement, because their events come
// a moment after the namespace is known as served.
func (r *Reconciler) prepareOwners(ctx context.Context) error {
	o := r.owners
	o.mu.Lock()
	synced, listed := o.synced, o.listed
	o.mu.Unlock()
	if !synced && r.Namespaces.Synced(nil) != nil {
		return errNotSynced
	}
	if !listed {
		bars := &v1alpha1.BarList{}
		o.beginList()
		err := r.Client.List(ctx, bars, client.InNamespace(o.waiting.namespace))
		o.endList(bars.Items)
		if err != nil {
			return fmt.Errorf("list Bars: %w", err)
		}
	}
	o.mu.Lock()
	o.synced, o.listed = true, true
	o.mu.Unlock()
	return r.readUsers(ctx)
}

// readUsers reads the objects of served namespaces that were not read since these are served.
func (r *Reconciler) readUsers(ctx context.Context) error {
	for _, namespace := range r.Namespaces.Served() {
		for _, kind := range r.Late.Present() {
			place := cachedKind{namespace.Name, kind}
			if known, ok := r.read.Load(place); ok && known == namespace {
				continue
			}
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind)
			err := namespace.List(ctx, list, client.InNamespace(namespace.Name), client.UnsafeDisableDeepCopy)
			if notCached := (*cache.ErrResourceNotCached)(nil); errors.As(err, &notCached) {
				if namespace.Denied(kind.GroupKind()) != nil {
					continue // one namespace that is served without a kind must not keep all others from their names
				}
				if err := r.readLive(ctx, namespace, kind); err != nil {
					return err
				}
				continue // it is read again when the cache has it
			}
			if err != nil {
				return fmt.Errorf("list %s in namespace %s: %w", kind.Kind, namespace.Name, err)
			}
			for i := range list.Items {
				r.owners.sawObject(&list.Items[i], r.Providers.Uses(&list.Items[i]))
			}
			r.read.Store(place, namespace)
		}
	}
	return nil
}

// readLive reads the objects of a kind that a namespace's cache does not have yet.
func (r *Reconciler) readLive(ctx context.Context, namespace *tenancy.Namespace, kind schema.GroupVersionKind) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	err := r.Client.List(ctx, list, client.InNamespace(namespace.Name))
	switch {
	case retry.LacksRight(err):
		r.Namespaces.Suspect(namespace.Name) // it is denied, or not served, once the registry has looked
		return errNotSynced
	case isVersionMissing(err):
		return errors.Join(err, r.Late.Ask(ctx))
	case err != nil:
		return fmt.Errorf("list %s in namespace %s: %w", kind.Kind, namespace.Name, err)
	}
	for i := range list.Items {
		r.owners.sawObject(&list.Items[i], r.Providers.Uses(&list.Items[i]))
	}
	return nil
}

// forgetCache drops the references to the cache of a namespace, which is never used again once the
// namespace is lost.
func (r *Reconciler) forgetCache(namespace string) {
	r.read.Range(func(place, _ any) bool {
		if of, ok := place.(cachedKind); ok && of.namespace == namespace {
			r.read.Delete(place)
		}
		return true
	})
}

// cachedKind is a kind in the cache of a namespace.
type cachedKind struct {
	namespace string
	kind      schema.GroupVersionKind
}

// verify looks whether an object that is in a Bar's way is there and still uses the name: in the
// namespace's cache, then live. In a namespace that is not served the operator cannot look, so the
// object stays unless the namespace is gone.
func (r *Reconciler) verify(ctx context.Context, u *user) error {
	namespace, served := r.Namespaces.Lookup(u.namespace)
	if !served && u.bar == "" && !r.Namespaces.Assigned(u.namespace) {
		r.owners.forgetForeign(u.namespace)
		return nil
	}
	if !served {
		gone, err := tenancy.IsGone(ctx, r.Client, u.namespace, metav1.NewTime(u.created))
		if gone {
			r.owners.goneObject(u)
		}
		return err
	}
	kind := schema.GroupKind{Group: u.group, Kind: u.kind}
	version, err := r.Late.Version(kind)
	if notInstalled := (*tenancy.NotInstalledError)(nil); errors.As(err, &notInstalled) {
		return r.kindGone(ctx, kind, u)
	}
	if err != nil {
		return err
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kind.WithVersion(version))
	key := client.ObjectKey{Namespace: u.namespace, Name: u.name}
	err = namespace.Get(ctx, key, live)
	if notCached := (*cache.ErrResourceNotCached)(nil); apierrors.IsNotFound(err) || errors.As(err, &notCached) {
		err = r.Client.Get(ctx, key, live)
	}
	switch {
	case isVersionMissing(err):
		return r.kindGone(ctx, kind, u)
	case apierrors.IsNotFound(err):
		r.owners.goneObject(u)
		return nil
	case err != nil:
		return err
	}
	r.owners.sawObject(live, r.Providers.Uses(live))
	return nil
}

// kindGone forgets an object if its kind is not installed in any version.
func (r *Reconciler) kindGone(ctx context.Context, kind schema.GroupKind, object *user) error {
	versions, err := r.Late.Served(ctx, kind)
	if err == nil && len(versions) == 0 {
		r.owners.goneObject(object)
	}
	return err
}

// barDeleted drops what a deleted Bar recorded. Deleting the Bar of a lost namespace is how an
// admin lets go of its names; the names of any other Bar that is deleted by force stay with its
// objects.
func (r *Reconciler) barDeleted(bar *v1alpha1.Bar) {
	r.owners.deleted(bar)
	if _, served := r.Namespaces.Lookup(bar.Spec.SourceRef.Namespace); !served && bar.IsNamespaceLost() {
		r.owners.letGo(bar)
	}
}

// forgetMissing drops the record of a Bar that the cache does not have, if the API server does not
// have it either.
func (r *Reconciler) forgetMissing(ctx context.Context, key client.ObjectKey) error {
	r.owners.leave(key.Name)
	uid, known := r.owners.hasRecord(key.Name)
	if !known {
		return nil
	}
	live := &v1alpha1.Bar{}
	err := r.Client.Get(ctx, key, live)
	if apierrors.IsNotFound(err) || err == nil && live.UID != uid {
		r.owners.deleted(&v1alpha1.Bar{ObjectMeta: metav1.ObjectMeta{Name: key.Name, UID: uid}})
		return nil
	}
	return err
}
