package claim

import (
	"context"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// TestABarOfALostNamespaceCostsNoRequest has a thousand Bars of one lost namespace look whether it
// exists.
func TestABarOfALostNamespaceCostsNoRequest(t *testing.T) {
	requests := 0
	live := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).
		WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: metav1.NewTime(time.Unix(0, 0))}}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
				requests++
				return c.Get(ctx, key, object, options...)
			},
		}).Build()
	registry := tenancy.NewRegistry(tenancy.Options{Client: live})
	registry.Assign(tenancy.Assignment{})
	clock := testclock.NewFakeClock(time.Now())
	r := &Reconciler{namespaces: registry, direct: live, clock: clock, pending: newGracePeriods(clock), lost: newStopwatches(clock)}
	for i := range 1000 {
		bar := &v1alpha1.Bar{
			ObjectMeta: metav1.ObjectMeta{UID: types.UID(strconv.Itoa(i)), CreationTimestamp: metav1.Now()},
			Spec:       v1alpha1.BarSpec{SourceRef: v1alpha1.BarSourceReference{Namespace: "n"}},
		}
		result, err := r.unserved(t.Context(), bar)
		if err != nil || result.RequeueAfter < firstLook {
			t.Fatalf("%+v, %v", result, err)
		}
		if gone, err := r.hasNoSource(t.Context(), bar); err != nil || gone {
			t.Fatalf("the sweep takes the namespace for gone: %v", err)
		}
	}
	if requests > 10 { // one in some seconds
		t.Errorf("%d requests for 1000 Bars", requests)
	}
}

// TestReportsOfALostNamespaceAreFreed loses a namespace with a source that has no Bar, which no
// event reaches any more.
func TestReportsOfALostNamespaceAreFreed(t *testing.T) {
	registry := tenancy.NewRegistry(tenancy.Options{})
	r := newReporter(t, deploymentWith(1, 1))
	r.namespaces = registry
	registry.NotifyLoss(r.forgetLost)
	registry.Assign(tenancy.Assignment{Tenants: map[string]string{"n": "a"}})
	r.tell(0, Answer{Word: v1alpha1.ReasonOverLimit, Message: "too many"})
	elsewhere := deploymentWith(1, 1)
	elsewhere.Namespace = "m"
	r.reports.keep(elsewhere, &reported{since: r.clock.Now()})
	registry.Assign(tenancy.Assignment{})
	if _, kept := r.reports.sources[client.ObjectKeyFromObject(elsewhere)]; !kept || len(r.reports.sources) != 1 {
		t.Errorf("remembered: %+v", r.reports.sources)
	}
	// A reconcile that had begun before ends after that.
	r.tell(0, Answer{Word: v1alpha1.ReasonOverLimit, Message: "far too many"})
	r.forgetLost("n")
	if len(r.reports.sources) != 1 {
		t.Errorf("remembered: %+v", r.reports.sources)
	}
}
