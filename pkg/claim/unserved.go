package claim

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
)

// Bounds of the time between two looks at a namespace that is not served. A namespace that is being
// deleted is gone within seconds, as a rule; one whose tenant was removed may stay for years.
const (
	firstLook = 2 * time.Second
	lastLook  = 5 * time.Minute
)

// unserved decides about the Bar of a source in a namespace that is not served. The Bar stays,
// because what it made there may still serve and cannot be seen, unless the namespace is gone.
func (r *Reconciler) unserved(ctx context.Context, bar *v1alpha1.Bar) (reconcile.Result, error) {
	if bar == nil || bar.Spec.Release {
		return reconcile.Result{}, nil
	}
	namespace := bar.Spec.SourceRef.Namespace
	if _, lost := r.namespaces.LostSince(namespace); lost {
		gone, err := r.namespaces.IsGone(ctx, namespace, bar.CreationTimestamp)
		if err != nil {
			return reconcile.Result{}, err
		}
		if gone {
			_, err := r.release(ctx, bar)
			return reconcile.Result{}, err
		}
	}
	return r.lookAgain(bar), nil
}

// lookAgain requeues a Bar whose namespace is not served: the longer that lasts, the later. A grace
// period begins anew when the namespace is served again, because what the source asks for now was
// not seen since, and a Foo may have yet to bring its Deployment in line with its own request.
func (r *Reconciler) lookAgain(bar *v1alpha1.Bar) reconcile.Result {
	r.pending.stop(bar.UID)
	lasts := r.clock.Since(r.lost.begin(bar.UID))
	return reconcile.Result{RequeueAfter: retry.Jitter(min(max(lasts, firstLook), lastLook))}
}

// forgetLost frees what is remembered of the sources in a namespace that is not served. Only the
// Bars there are still reconciled, so a source without a Bar would be remembered without end.
func (r *Reconciler) forgetLost(namespace string) {
	if _, served := r.namespaces.Lookup(namespace); !served {
		r.reports.forgetNamespace(namespace)
	}
}
