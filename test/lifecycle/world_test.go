package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/claim"
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/try"
)

const (
	internalClass = "internal"
	webClass      = "web"
	grace         = 3 * time.Second
	// stable is how long after its last request a load balancer counts as given: a release that was decided just before is under way.
	stable = 2 * time.Second
)

// world is what the test has asked for so far.
type world struct {
	tenants    map[string]*tenant
	sources    map[client.ObjectKey]*source
	operators  replicas
	generation int
	removed    []client.Object // objects of the platform that are missing, to be restored
}

type tenant struct {
	namespaces []string
	leaving    bool
}

// source is a Service that asks for a load balancer, or does not.
type source struct {
	class     string // that it asks for when it asks
	asks      bool
	disturbed time.Time // when something was last asked that may change its load balancer
}

func newWorld() *world {
	w := &world{
		tenants: map[string]*tenant{"a": {namespaces: []string{"n0"}}, "b": {namespaces: []string{"n1"}}, "c": {namespaces: []string{"n2", "n3"}}},
		sources: map[client.ObjectKey]*source{},
	}
	for _, namespace := range []string{"n0", "n1", "n2", "n3"} {
		// Of the same name in all namespaces, so that the host names have rivals.
		for name, class := range map[string]string{"pay": webClass, "shop": webClass, "db": internalClass, "cache": internalClass} {
			w.sources[client.ObjectKey{Namespace: namespace, Name: name}] = &source{class: class, asks: true}
		}
	}
	return w
}

// release is the chart with the tenants as they are wanted.
func (w *world) release() cluster.Chart {
	var list []any
	for _, name := range slices.Sorted(maps.Keys(w.tenants)) {
		t := w.tenants[name]
		var namespaces []any
		for _, namespace := range t.namespaces {
			namespaces = append(namespaces, namespace)
		}
		list = append(list, map[string]any{
			"name": name, "namespaces": namespaces, "leaving": t.leaving, "allowedBarClasses": []any{internalClass, webClass},
		})
	}
	return cluster.Chart{
		Release: "controlee", Namespace: systemNamespace,
		Values: map[string]any{
			"replicaCount": 0, "tenants": list, "externalBarClasses": []any{webClass},
			"barClasses": map[string]any{internalClass: map[string]any{"releaseGracePeriodSeconds": int(grace.Seconds())}},
			"lock":       map[string]any{"breakGlassGroups": []any{breakGlassGroup}},
		},
	}
}

// build makes everything, and starts the operators.
func (w *world) build(t *testing.T) {
	t.Helper()
	for _, namespace := range w.namespaces() {
		must(t, admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	}
	must(t, shared.InstallChart(t.Context(), w.release()))
	must(t, admin.Create(t.Context(), &v1alpha1.BarClass{
		ObjectMeta: metav1.ObjectMeta{Name: webClass},
		Spec: v1alpha1.BarClassSpec{
			ReleaseGracePeriodSeconds: ptr.To(int32(grace.Seconds())),
			Provider: v1alpha1.BarProvider{Type: v1alpha1.GatewayProvider, Gateway: &v1alpha1.GatewayProviderSpec{
				ParentRef: v1alpha1.GatewayReference{Namespace: "infra", Name: "public"}, HostnameTemplate: "{name}.apps.example.com",
			}},
		},
	}))
	for key := range w.sources {
		must(t, admin.Create(t.Context(), w.object(key)))
	}
	w.operators = startReplicas(t, w.generation)
	t.Cleanup(func() { w.operators.stop() })
}

func (w *world) namespaces() []string {
	found := map[string]bool{}
	for key := range w.sources {
		found[key.Namespace] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// object is a source as the API server is to have it.
func (w *world) object(key client.ObjectKey) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": key.Name}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	if s := w.sources[key]; s.asks {
		service.Annotations = map[string]string{v1alpha1.BarClassAnnotation: s.class}
	}
	return service
}

// disturb notes that the load balancers of sources may change by what is about to be asked. In a namespace that is all of its sources'.
func (w *world) disturb(keys ...client.ObjectKey) {
	for _, key := range keys {
		for other, s := range w.sources {
			if other == key || key.Name == "" && other.Namespace == key.Namespace {
				s.disturbed = time.Now()
			}
		}
	}
}

// upgrade brings the release in line with the tenants, which also restores what is missing.
func (w *world) upgrade(t *testing.T) {
	t.Helper()
	must(t, shared.UpgradeChart(t.Context(), w.release()))
	w.removed = nil
}

// remove deletes an object of the platform for a while.
func (w *world) remove(t *testing.T, object client.Object) {
	t.Helper()
	err := admin.Get(t.Context(), client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return
	}
	must(t, err)
	must(t, client.IgnoreNotFound(admin.Delete(t.Context(), object)))
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetManagedFields(nil)
	w.removed = append(w.removed, object)
}

// restore puts back what is missing.
func (w *world) restore(t *testing.T) {
	t.Helper()
	for _, object := range w.removed {
		fresh, ok := object.DeepCopyObject().(client.Object)
		if !ok {
			t.Fatalf("%T is no object", object)
		}
		if err := admin.Create(t.Context(), fresh); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	w.removed = nil
}

// holderOf returns the Tenant that a namespace is wanted for, or "".
func (w *world) holderOf(namespace string) string {
	for name, t := range w.tenants {
		if slices.Contains(t.namespaces, namespace) {
			return name
		}
	}
	return ""
}

// given returns the UIDs of the objects that sources have been given for good, by source: nothing was asked lately that may change them,
// and their Bars say that they are as asked for. One that is in nobody's hands just now is left out.
func (w *world) given(ctx context.Context) (map[client.ObjectKey]types.UID, error) {
	bars := &v1alpha1.BarList{}
	if err := admin.List(ctx, bars, client.InNamespace(systemNamespace)); err != nil {
		return nil, err
	}
	given := map[client.ObjectKey]types.UID{}
	for i := range bars.Items {
		bar := &bars.Items[i]
		key := client.ObjectKey{Namespace: bar.Spec.SourceRef.Namespace, Name: bar.Spec.SourceRef.Name}
		s := w.sources[key]
		if s == nil || !s.asks || time.Since(s.disturbed) < stable || bar.Spec.Release || len(bar.Status.Conditions) > 1 ||
			bar.Status.ObservedGeneration != bar.Generation || bar.Status.Phase == v1alpha1.PhaseFailed {
			continue
		}
		service := &corev1.Service{}
		if err := admin.Get(ctx, key, service); err != nil || service.UID != bar.Spec.SourceRef.UID {
			continue
		}
		for _, target := range bar.Status.Targets {
			if target.State == v1alpha1.TargetApplied {
				given[key] = target.UID
			}
		}
	}
	return given, nil
}

func barOf(key client.ObjectKey) client.ObjectKey {
	return client.ObjectKey{Namespace: systemNamespace, Name: claim.BarName(v1alpha1.SourceService, key.Namespace, key.Name)}
}

// gone waits until an object is gone.
func gone(t *testing.T, object client.Object) {
	t.Helper()
	try.Until(t, time.Minute, func(ctx context.Context) error {
		err := admin.Get(ctx, client.ObjectKeyFromObject(object), object)
		if err == nil {
			return fmt.Errorf("%T %s is still there", object, object.GetName())
		}
		return client.IgnoreNotFound(err)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
