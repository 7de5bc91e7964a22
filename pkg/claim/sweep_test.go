package claim

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// left reads the metric of the orphans that the last sweep found and left.
func left(t *testing.T, kind string) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "controlee_orphans" && metric.GetLabel()[0].GetValue() == kind {
				return metric.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("no controlee_orphans of %s", kind)
	return 0
}

// A sweep that could not list the objects of a kind knows nothing of them: the metric keeps its
// last value.
func TestASweepThatCannotListKeepsTheMetric(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var failing bool
	reader := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if failing {
				return errors.New("the API server is away")
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
	s := &sweep{
		options: SweepOptions{Late: tenancy.NewLateKinds(nil, nil)}, systemNamespace: "controlee-system",
		cached: reader, direct: reader,
		served: func() []*tenancy.Namespace {
			return []*tenancy.Namespace{{Name: "team-a", Tenant: "a", Reader: reader}}
		},
	}
	expect := func(want float64) {
		t.Helper()
		s.run(t.Context())
		for _, kind := range []string{barKind, "Service"} {
			if got := left(t, kind); got != want {
				t.Errorf("controlee_orphans of %s is %v, want %v", kind, got, want)
			}
		}
	}
	orphans.WithLabelValues(barKind).Set(3)
	orphans.WithLabelValues("Service").Set(3)
	failing = true
	expect(3)
	failing = false
	expect(0)
}

// A Bar whose kind of source this operator does not know is left alone, and the other Bars are
// looked at all the same.
func TestASweepLeavesABarOfAnUnknownKindAlone(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	bar := &v1alpha1.Bar{ObjectMeta: metav1.ObjectMeta{Namespace: "controlee-system", Name: "x"}}
	bar.Spec.SourceRef = v1alpha1.BarSourceReference{Kind: "StatefulSet", Namespace: "team-a", Name: "x"}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(bar).Build()
	s := &sweep{
		options: SweepOptions{Late: tenancy.NewLateKinds(nil, nil)}, systemNamespace: "controlee-system", cached: reader, direct: reader,
		served: func() []*tenancy.Namespace { return nil },
	}
	orphans.WithLabelValues(barKind).Set(2)
	s.run(t.Context())
	if err := reader.Get(t.Context(), client.ObjectKeyFromObject(bar), bar); err != nil || bar.Spec.Release {
		t.Errorf("the Bar was touched: %+v, %v", bar.Spec, err)
	}
	if got := left(t, barKind); got != 2 {
		t.Errorf("controlee_orphans is %v, want the last value, 2", got)
	}
}
