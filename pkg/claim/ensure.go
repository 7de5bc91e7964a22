package claim

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
)

// ensure makes, changes or releases the Bar of a source. It gives the Bar as it is now, and why the source does not get what it asks
// for, if so.
func (r *Reconciler) ensure(ctx context.Context, now situation, bar *v1alpha1.Bar) (*v1alpha1.Bar, *refusal, error) {
	switch {
	case bar == nil && now.spec == nil:
		return nil, now.refusal, nil
	case bar == nil:
		return r.create(ctx, now)
	case bar.Spec.Release:
		return bar, now.refusal, nil // when it is gone, which is an event, the source gets the next one
	case !now.keeps(bar):
		return r.takeAway(ctx, now, bar)
	case now.spec == nil:
		return bar, now.refusal, nil
	default:
		return r.update(ctx, now, bar)
	}
}

// keeps says whether a Bar stays: it is this very source's, for this tenant, and the source may have one.
func (s situation) keeps(bar *v1alpha1.Bar) bool {
	return s.entitles(bar.Spec.SourceRef.UID) && bar.Spec.Tenant == s.tenant.Name
}

// entitles says whether the source is the one with this UID, and may have a Bar, or keep one.
func (s situation) entitles(uid types.UID) bool {
	return s.source != nil && s.tenant != nil && s.source.GetUID() == uid && (s.spec != nil || s.refusal != nil && s.refusal.keep)
}

// create makes the Bar, if the tenant has room for it.
func (r *Reconciler) create(ctx context.Context, now situation) (*v1alpha1.Bar, *refusal, error) {
	key := client.ObjectKeyFromObject(now.source)
	bar := &v1alpha1.Bar{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.systemNamespace,
			Name:      BarName(r.kind.name, key.Namespace, key.Name),
			Labels: map[string]string{
				v1alpha1.TenantLabel:          now.tenant.Name,
				v1alpha1.SourceNamespaceLabel: key.Namespace,
				v1alpha1.ManagedByLabel:       v1alpha1.ManagedByValue,
			},
		},
		Spec: *now.spec,
	}
	room, err := r.limits.reserve(ctx, now.tenant, waiter{source: r.kind.ref(key), created: now.source.GetCreationTimestamp().Time}, bar.Name)
	if err != nil {
		return nil, nil, err
	}
	if !room {
		return nil, refuse(v1alpha1.ReasonOverLimit,
			"your team has as many load balancers as it may have (%d): delete one, or ask your platform admin for more", *now.tenant.Spec.MaxBars), nil
	}
	err = r.direct.Create(ctx, bar, client.FieldOwner(FieldManager))
	if apierrors.IsAlreadyExists(err) {
		err = r.found(ctx, now, bar)
	}
	r.limits.settle(now.tenant.Name, bar.Name, bar.UID)
	if retry.IsRefusal(err) {
		return nil, refuse(v1alpha1.ReasonRefused, "%s", err), nil
	}
	return bar, nil, err
}

// found reads a Bar that exists although the cache does not have it. One of an earlier source of the same name, or one that is being
// released, has to go first, which is an event.
func (r *Reconciler) found(ctx context.Context, now situation, bar *v1alpha1.Bar) error {
	if err := r.direct.Get(ctx, client.ObjectKeyFromObject(bar), bar); err != nil {
		return err
	}
	if bar.Spec.Release || !now.keeps(bar) {
		return lagging(bar.Name)
	}
	return nil
}

// update brings the spec of the Bar in line.
func (r *Reconciler) update(ctx context.Context, now situation, bar *v1alpha1.Bar) (*v1alpha1.Bar, *refusal, error) {
	if equality.Semantic.DeepEqual(*now.spec, bar.Spec) {
		return bar, nil, nil
	}
	changed := bar.DeepCopy()
	changed.Spec = *now.spec
	patch := client.MergeFromWithOptions(bar, client.MergeFromWithOptimisticLock{})
	err := r.direct.Patch(ctx, changed, patch, client.FieldOwner(FieldManager))
	if retry.IsRefusal(err) {
		return bar, refuse(v1alpha1.ReasonRefused, "%s", err), nil
	}
	return changed, nil, err
}

// takeAway releases a Bar, after the API server has confirmed what the caches say: they lag behind, and what is released cannot be
// had back.
func (r *Reconciler) takeAway(ctx context.Context, now situation, bar *v1alpha1.Bar) (*v1alpha1.Bar, *refusal, error) {
	ref := bar.Spec.SourceRef
	confirmed, err := r.assess(ctx, r.direct, r.direct, now.holder, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name})
	if err != nil {
		return nil, nil, err
	}
	if confirmed.keeps(bar) {
		return nil, nil, lagging(bar.Name)
	}
	released, err := r.release(ctx, bar)
	if err == nil {
		logf.FromContext(ctx).Info("Released Bar", "bar", bar.Name, "kind", ref.Kind, "sourceUID", ref.UID)
	}
	return released, now.refusal, err
}
