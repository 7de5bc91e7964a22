package bar

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

var errBusy = errors.New("the API server is busy")

// Bars of a lost namespace are marked although nobody can say whether it exists.
func TestLostNamespaceThatCannotBeRead(t *testing.T) {
	bar := newBar(t, newNamespace(t, "unreadable"), "web", "internal")
	settle(t, newReconciler(server), bar)
	r := newReconciler(interceptor.NewClient(server, interceptor.Funcs{
		Get: func(ctx context.Context, through client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			if object.GetObjectKind().GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Namespace") {
				return errBusy
			}
			return through.Get(ctx, key, object, opts...)
		},
	}))
	r.Namespaces = lost(time.Second, "unreadable")
	if result, err := r.Reconcile(t.Context(), requestFor(bar)); err != nil || result.RequeueAfter == 0 {
		t.Errorf("during the grace period: %+v, %v", result, err)
	}
	expect(t, bar, v1alpha1.PhaseReady, v1alpha1.ReasonProvisioned)
	r.Namespaces = lost(lossGrace+time.Second, "unreadable")
	if err := reconcileOnce(r, bar); !errors.Is(err, errBusy) {
		t.Errorf("got %v", err)
	}
	expect(t, bar, v1alpha1.PhaseFailed, v1alpha1.ReasonNamespaceLost)
}
