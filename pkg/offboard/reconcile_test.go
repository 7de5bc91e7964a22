package offboard

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// counting counts the reads of a client.
func counting(server client.WithWatch, reads *int) client.WithWatch {
	return interceptor.NewClient(server, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			*reads++
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			*reads++
			return c.List(ctx, list, options...)
		},
	})
}

func TestLiveReads(t *testing.T) {
	released := func(generation int64, status metav1.ConditionStatus) func(*v1alpha1.Tenant) {
		return func(t *v1alpha1.Tenant) {
			meta.SetStatusCondition(&t.Status.Conditions, metav1.Condition{
				Type: v1alpha1.TenantReleased, Status: status, Reason: v1alpha1.ReasonReleased, ObservedGeneration: generation,
			})
		}
	}
	made := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Labels: map[string]string{v1alpha1.BarLabel: "web-1"}}}
	cases := map[string]struct {
		reason string
		before func(*v1alpha1.Tenant)
		left   []client.Object
		live   bool // whether the API server is read
		want   metav1.ConditionStatus
	}{
		"First": {
			reason: "Before Released is True for the first time, the API server confirms it.",
			before: func(*v1alpha1.Tenant) {}, live: true, want: metav1.ConditionTrue,
		},
		"Pending": {
			reason: "The same goes for a release that has been under way.",
			before: released(1, metav1.ConditionFalse), live: true, want: metav1.ConditionTrue,
		},
		"Confirmed": {
			reason: "Every event of a Deployment requeues a Tenant that stays for years after its release: the caches suffice.",
			before: released(1, metav1.ConditionTrue), want: metav1.ConditionTrue,
		},
		"Changed": {
			reason: "A changed spec can name another namespace.",
			before: released(0, metav1.ConditionTrue), live: true, want: metav1.ConditionTrue,
		},
		"Again": {
			reason: "What the caches have is left, whatever was confirmed.",
			before: released(1, metav1.ConditionTrue), left: []client.Object{made}, want: metav1.ConditionFalse,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tenant := leaving()
			tc.before(tenant)
			server, reads := newServer(t, append(tc.left, tenant)...), 0
			r := &Reconciler{
				Namespaces: served{"ns": server}, Cache: server, Client: counting(server, &reads), Late: tenancy.NewLateKinds(nil, nil), SystemNamespace: system,
			}
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(tenant)}); err != nil {
				t.Fatal(err)
			}
			if (reads > 0) != tc.live {
				t.Errorf("%s\n%d live reads", tc.reason, reads)
			}
			if err := server.Get(t.Context(), client.ObjectKeyFromObject(tenant), tenant); err != nil {
				t.Fatal(err)
			}
			condition := meta.FindStatusCondition(tenant.Status.Conditions, v1alpha1.TenantReleased)
			if condition == nil || condition.Status != tc.want || condition.ObservedGeneration != tenant.Generation {
				t.Errorf("%s\ngot %+v", tc.reason, condition)
			}
		})
	}
}
