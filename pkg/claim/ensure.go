package claim

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
)

// outcome is what a reconcile came to.
type outcome struct {
	bar     *v1alpha1.Bar // as it is now; nil: none
	refusal *refusal      // why the source does not get what it asks for, if so
	after   time.Duration // when to look again at the latest; 0: an event brings the source back
}

// ensure creates, updates or releases the Bar of a source.
func (r *Reconciler) ensure(ctx context.Context, now situation, bar *v1alpha1.Bar) (outcome, error) {
	switch {
	case bar == nil && now.spec == nil:
		return outcome{refusal: now.refusal}, nil
	case bar == nil:
		return r.create(ctx, now)
	case bar.Spec.Release:
		return outcome{bar: bar, refusal: now.refusal}, nil // when it is gone, which is an event, the source gets the next one
	}
	if v := now.verdictOn(bar); v.action != keep {
		return r.takeAway(ctx, now, bar, v)
	}
	r.pending.stop(bar.UID)
	bar, err := r.setPending(ctx, bar, nil)
	if err != nil {
		return outcome{}, err
	}
	return r.update(ctx, now, bar)
}

// create makes the Bar, if the tenant has room for it.
func (r *Reconciler) create(ctx context.Context, now situation) (outcome, error) {
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
		return outcome{}, err
	}
	if !room {
		return outcome{refusal: refuse(v1alpha1.ReasonOverLimit,
			"your team has as many load balancers as it may have (%d): delete one, or ask your platform admin for more", *now.tenant.Spec.MaxBars)}, nil
	}
	err = r.direct.Create(ctx, bar, client.FieldOwner(FieldManager))
	if apierrors.IsAlreadyExists(err) {
		err = r.found(ctx, now, bar)
	}
	r.limits.settle(now.tenant.Name, bar.Name, bar.UID)
	if retry.IsRefusal(err) {
		return outcome{refusal: refuse(v1alpha1.ReasonRefused, "%s", err)}, nil
	}
	return outcome{bar: bar}, err
}

// found reads a Bar that exists although the cache does not have it. One of an earlier source of the same name, or one that is being
// released, has to go first, which is an event.
func (r *Reconciler) found(ctx context.Context, now situation, bar *v1alpha1.Bar) error {
	if err := r.direct.Get(ctx, client.ObjectKeyFromObject(bar), bar); err != nil {
		return err
	}
	if bar.Spec.Release || now.verdictOn(bar).action != keep {
		return lagging(bar.Name)
	}
	return nil
}

// update brings the spec of the Bar in line with the request, if that can be granted, and with the
// Tenant that the namespace belongs to now. A Bar that changes hands keeps its load balancer; it
// counts against the limit of the new Tenant, which takes nothing away from what exists.
func (r *Reconciler) update(ctx context.Context, now situation, bar *v1alpha1.Bar) (outcome, error) {
	changed := bar.DeepCopy()
	if now.spec != nil {
		changed.Spec = *now.spec
	}
	changed.Spec.Tenant = now.tenant.Name
	metav1.SetMetaDataLabel(&changed.ObjectMeta, v1alpha1.TenantLabel, now.tenant.Name)
	if equality.Semantic.DeepEqual(changed.Spec, bar.Spec) && changed.Labels[v1alpha1.TenantLabel] == bar.Labels[v1alpha1.TenantLabel] {
		return outcome{bar: bar, refusal: now.refusal}, nil
	}
	patch := client.MergeFromWithOptions(bar, client.MergeFromWithOptimisticLock{})
	err := r.direct.Patch(ctx, changed, patch, client.FieldOwner(FieldManager))
	if retry.IsRefusal(err) {
		return outcome{bar: bar, refusal: refuse(v1alpha1.ReasonRefused, "%s", err)}, nil
	}
	if err == nil && changed.Spec.ClassName != bar.Spec.ClassName {
		r.recorder.Eventf(now.source, nil, corev1.EventTypeNormal, eventChanging, "SyncLoadBalancer",
			"BarClass changes from %s to %s: a new load balancer is made, and the old one is released when the new one is ready",
			bar.Spec.ClassName, changed.Spec.ClassName)
	}
	return outcome{bar: changed, refusal: now.refusal}, err
}

// takeAway releases a Bar, at once or when its grace period is over. Before it marks or releases
// the Bar it reads the source and the Tenant from the API server, because caches lag behind and a
// released Bar cannot be taken back.
func (r *Reconciler) takeAway(ctx context.Context, now situation, bar *v1alpha1.Bar, v verdict) (outcome, error) {
	ref := bar.Spec.SourceRef
	confirmed, err := r.assess(ctx, r.direct, r.direct, now.holder, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name})
	if err != nil {
		return outcome{}, err
	}
	if confirmed.verdictOn(bar) != v {
		return outcome{}, lagging(bar.Name)
	}
	if v.action == releaseAfterGrace {
		grace, err := r.gracePeriod(ctx, bar)
		if err != nil {
			return outcome{}, err
		}
		reason, deadline := r.pending.run(bar.UID, grace, confirmed.reasonsToRelease(bar)...)
		if left := deadline.Sub(r.clock.Now()); left > 0 {
			return r.await(ctx, now, bar, pending{reason: reason, deadline: deadline, left: left})
		}
	}
	released, err := r.release(ctx, bar)
	if err == nil {
		logf.FromContext(ctx).Info("Released Bar", "bar", bar.Name, "kind", ref.Kind, "sourceUID", ref.UID, "reason", v.reason)
	}
	return outcome{bar: released, refusal: now.refusal}, err
}

// await marks a Bar whose release is pending, and keeps it until then.
func (r *Reconciler) await(ctx context.Context, now situation, bar *v1alpha1.Bar, p pending) (outcome, error) {
	bar, err := r.setPending(ctx, bar, &p)
	if err != nil {
		return outcome{}, err
	}
	now.wish = wish{refusal: p.answer(bar)}
	out, err := r.update(ctx, now, bar)
	out.after = p.left
	return out, err
}
