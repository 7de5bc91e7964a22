package claim

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// release has the Bar controller take a Bar away, exactly as the API server has it now. It gives the Bar as it is then, nil when it is gone.
func (r *Reconciler) release(ctx context.Context, bar *v1alpha1.Bar) (*v1alpha1.Bar, error) {
	live := &v1alpha1.Bar{}
	if err := r.direct.Get(ctx, client.ObjectKeyFromObject(bar), live); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if live.UID != bar.UID {
		return nil, lagging(bar.Name)
	}
	if live.Spec.Release {
		return live, nil
	}
	released := live.DeepCopy()
	released.Spec.Release = true
	patch := client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})
	return released, client.IgnoreNotFound(r.direct.Patch(ctx, released, patch, client.FieldOwner(FieldManager)))
}

// lagging says that a cache is behind the API server; it has caught up a moment later.
func lagging(bar string) error {
	return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("bars").GroupResource(), bar, errors.New("the cache lags behind"))
}
