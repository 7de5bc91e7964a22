package leader

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// FenceName is the name of the Fence in the system namespace. The chart makes it.
const FenceName = "controlee"

// The admission policy's parameter lags behind the Fence by some tens of milliseconds: the first probes may be refused.
const (
	firstProbe = 10 * time.Millisecond
	lastProbe  = 200 * time.Millisecond
)

// fence claims the Fence for one Pod.
type fence struct {
	client client.Client
	key    client.ObjectKey
	holder v1alpha1.FenceHolder
	clock  clock.WithTicker

	epoch int64 // of the last claim that was written by this process, in force or not
}

func newFence(config *rest.Config, namespace string, holder v1alpha1.FenceHolder, c clock.WithTicker) (*fence, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	// Known beforehand, so that a takeover does not begin with asking the API server what it serves.
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind("Fence"), meta.RESTScopeNamespace)
	fences, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("fence client: %w", err)
	}
	return &fence{client: fences, key: client.ObjectKey{Namespace: namespace, Name: FenceName}, holder: holder, clock: c}, nil
}

// claim makes the Fence name this Pod, with a higher epoch, and returns when that is in force: from then on no other
// Pod's write is admitted. stillOurs asks whether the Lease still is this replica's.
//
// The order is what makes it safe. Whoever takes the Lease after it was asked for here finds the Fence as it is after the
// update, or makes the update fail: its resource version is from before the question.
func (f *fence) claim(ctx context.Context, stillOurs func(context.Context) error) (int64, error) {
	for {
		current := &v1alpha1.Fence{}
		if err := f.client.Get(ctx, f.key, current); err != nil {
			if apierrors.IsNotFound(err) {
				return 0, fmt.Errorf("the Fence %s is missing, and nobody may write without it; an upgrade of the Helm release makes it again: %w", f.key, err)
			}
			return 0, fmt.Errorf("read the Fence: %w", err)
		}
		if f.names(current.Spec.Holder) && current.Spec.Epoch == f.epoch {
			return f.epoch, f.probe(ctx) // an earlier try got this far
		}
		if err := stillOurs(ctx); err != nil {
			return 0, err
		}
		current.Spec.Holder, current.Spec.Epoch = &f.holder, current.Spec.Epoch+1
		err := f.client.Update(ctx, current)
		if apierrors.IsConflict(err) {
			continue // somebody else's claim, or a status write; the Lease says whose turn it is
		}
		if err != nil {
			return 0, fmt.Errorf("claim the Fence: %w", err)
		}
		f.epoch = current.Spec.Epoch
		return f.epoch, f.probe(ctx)
	}
}

// named asks whom the Fence names; nil is nobody.
func (f *fence) named(ctx context.Context) (*v1alpha1.FenceHolder, error) {
	current := &v1alpha1.Fence{}
	err := f.client.Get(ctx, f.key, current)
	return current.Spec.Holder, err
}

// names says whether a holder is this Pod.
func (f *fence) names(holder *v1alpha1.FenceHolder) bool { return holder != nil && *holder == f.holder }

// probe writes through the fence until a write is let through.
func (f *fence) probe(ctx context.Context) error {
	for delay := firstProbe; ; delay = min(2*delay, lastProbe) {
		before := &v1alpha1.Fence{ObjectMeta: metav1.ObjectMeta{Namespace: f.key.Namespace, Name: f.key.Name}}
		after := before.DeepCopy()
		after.Status = v1alpha1.FenceStatus{Epoch: f.epoch, AcceptedAt: metav1.NewMicroTime(f.clock.Now())}
		err := f.client.Status().Patch(ctx, after, client.MergeFrom(before))
		if err == nil {
			return nil
		}
		if !IsFenced(err) {
			return fmt.Errorf("write through the fence: %w", err)
		}
		if sleep(ctx, f.clock, delay) != nil {
			return fmt.Errorf("the fence does not let epoch %d through yet: %w", f.epoch, err)
		}
	}
}

// sleep waits by a clock; it returns the context's error if that is done first.
func sleep(ctx context.Context, c clock.WithTicker, d time.Duration) error {
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}
