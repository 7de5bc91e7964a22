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
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/try"
)

const (
	internalClass = "internal"
	webClass      = "web"
	tenantClass   = "by-tenant" // a rename of the tenant changes the host names
	grace         = 3 * time.Second
	// The Tenant that is missing for nearly all of the test, and its namespace: its Bars say for
	// most of the time that the namespace is lost.
	lostTenant    = "lost"
	lostNamespace = "n4"
	// stable is how long after its last request a load balancer counts as given: a release that was
	// decided just before is under way.
	stable = 2 * time.Second
)

// world is what the test has asked for so far.
type world struct {
	tenants    map[string]*tenant
	sources    map[client.ObjectKey]*source
	operators  replicas
	generation int
	holders    map[string]string // by namespace, the last Tenant that it was wanted for
	guard      *guard
	removed    []client.Object // objects of the platform that are missing, to be restored
}

type tenant struct {
	namespaces []string
	leaving    bool
}

func newWorld() *world {
	w := &world{
		tenants: map[string]*tenant{
			"a": {namespaces: []string{"n0"}}, "b": {namespaces: []string{"n1"}}, "c": {namespaces: []string{"n2", "n3"}},
			lostTenant: {namespaces: []string{lostNamespace}},
		},
		sources: newSources("n0", "n1", "n2", "n3", lostNamespace),
		holders: map[string]string{},
	}
	delete(w.sources, client.ObjectKey{Namespace: lostNamespace, Name: "shop"}) // a host name for the others to contend for
	for _, namespace := range w.namespaces() {
		w.holders[namespace] = w.holderOf(namespace)
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
			"name": name, "namespaces": namespaces, "leaving": t.leaving, "allowedBarClasses": []any{internalClass, webClass, tenantClass},
		})
	}
	return cluster.Chart{
		Release: "controlee", Namespace: systemNamespace,
		Values: map[string]any{
			"replicaCount": 0, "tenants": list, "externalBarClasses": []any{webClass, tenantClass},
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
	for name, template := range map[string]string{webClass: "{name}.apps.example.com", tenantClass: "{name}.{tenant}.example.com"} {
		must(t, admin.Create(t.Context(), &v1alpha1.BarClass{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.BarClassSpec{
				ReleaseGracePeriodSeconds: ptr.To(int32(grace.Seconds())),
				Provider: v1alpha1.BarProvider{Type: v1alpha1.GatewayProvider, Gateway: &v1alpha1.GatewayProviderSpec{
					ParentRef: v1alpha1.GatewayReference{Namespace: "infra", Name: "public"}, HostnameTemplate: template,
				}},
			},
		}))
	}
	w.operators = startReplicas(t, w.generation)
	t.Cleanup(func() { w.operators.stop() })
	for _, key := range w.keys() {
		if key.Namespace == lostNamespace {
			must(t, admin.Create(t.Context(), w.object(key)))
		}
	}
	w.waitGiven(t, func(key client.ObjectKey) bool { return key.Namespace == lostNamespace })
	for _, key := range w.keys() {
		if key.Namespace != lostNamespace {
			must(t, admin.Create(t.Context(), w.object(key)))
		}
	}
}

// lose takes away the Tenant that is missing from then on. Its sources were the first, and hold a
// host name that all others of the name wait for.
func (w *world) lose(t *testing.T, g *guard) {
	t.Helper()
	given, err := w.given(t.Context())
	must(t, err)
	g.expect(given)
	delete(w.tenants, lostTenant)
	w.upgrade(t)
}

// waitGiven waits until some sources have what they ask for.
func (w *world) waitGiven(t *testing.T, which func(client.ObjectKey) bool) {
	t.Helper()
	try.Until(t, time.Minute, func(ctx context.Context) error {
		given, err := w.given(ctx)
		if err != nil {
			return err
		}
		has := map[client.ObjectKey]bool{}
		for _, its := range given {
			has[its.source] = true
		}
		for key := range w.sources {
			if which(key) && !has[key] {
				return fmt.Errorf("%s has no load balancer", key)
			}
		}
		return nil
	})
}

func (w *world) namespaces() []string {
	found := map[string]bool{}
	for key := range w.sources {
		found[key.Namespace] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// disturb notes that the load balancers of sources may change by what is about to be asked. In a
// namespace that is all of its sources'.
func (w *world) disturb(keys ...client.ObjectKey) {
	for _, key := range keys {
		for other, s := range w.sources {
			if other == key || key.Name == "" && other.Namespace == key.Namespace {
				s.disturbed = time.Now()
			}
		}
	}
}

// upgrade brings the release in line with the tenants, which also restores what is missing. Where a
// namespace belongs to another Tenant then, the host names with the Tenant's name in them change.
func (w *world) upgrade(t *testing.T) {
	t.Helper()
	for _, namespace := range w.namespaces() {
		holder := w.holderOf(namespace)
		if holder == "" || holder == w.holders[namespace] {
			continue
		}
		w.holders[namespace] = holder
		for key, s := range w.sources {
			if key.Namespace == namespace && s.class == tenantClass {
				w.disturb(key)
				w.guard.forget(key)
			}
		}
	}
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

// given returns the objects that sources have been given for good: nothing was asked lately that
// may change them, and their Bars are as asked for, or their namespaces are lost and keep what they
// have.
func (w *world) given(ctx context.Context) (map[types.UID]possession, error) {
	bars := &v1alpha1.BarList{}
	if err := admin.List(ctx, bars, client.InNamespace(systemNamespace)); err != nil {
		return nil, err
	}
	given := map[types.UID]possession{}
	for i := range bars.Items {
		bar := &bars.Items[i]
		key := client.ObjectKey{Namespace: bar.Spec.SourceRef.Namespace, Name: bar.Spec.SourceRef.Name}
		s := w.sources[key]
		if s == nil || !s.asks || time.Since(s.disturbed) < stable || bar.Spec.ClassName != s.class || !hasItsOwn(bar) {
			continue
		}
		if holder := w.holderOf(key.Namespace); s.class == tenantClass && holder != "" && holder != bar.Spec.Tenant {
			continue // its host name is about to change
		}
		if uid, err := w.uid(ctx, key); err != nil || uid != bar.Spec.SourceRef.UID {
			continue
		}
		given[bar.Status.Targets[0].UID] = possession{source: key, bar: bar.UID}
	}
	return given, nil
}

// hasItsOwn returns whether a Bar has one object, and neither a change nor a release of it is under
// way. A Bar whose namespace is lost is Failed, and has what it had.
func hasItsOwn(bar *v1alpha1.Bar) bool {
	return !bar.Spec.Release && len(bar.Status.Conditions) == 1 && bar.Status.ObservedGeneration == bar.Generation &&
		(bar.Status.Phase != v1alpha1.PhaseFailed || bar.Status.Conditions[0].Reason == v1alpha1.ReasonNamespaceLost) &&
		len(bar.Status.Targets) == 1 && bar.Status.Targets[0].State == v1alpha1.TargetApplied
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
