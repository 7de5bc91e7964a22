package bar

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// A converged Bar costs neither a write nor a live read.
func TestConvergedCostsNothing(t *testing.T) {
	bar := newBar(t, newNamespace(t, "converged"), "web", "web")
	settle(t, newReconciler(server), bar)
	playGateway(t, "converged", "True", "Accepted", "")
	settle(t, newReconciler(server), bar)
	expect(t, bar, v1alpha1.PhaseReady, v1alpha1.ReasonProvisioned)
	if want := []v1alpha1.BarAddress{{Type: v1alpha1.HostnameAddressType, Value: "web.converged.example.com"}}; len(bar.Status.Addresses) != 1 || bar.Status.Addresses[0] != want[0] {
		t.Errorf("addresses %+v", bar.Status.Addresses)
	}
	count := &counting{}
	if err := reconcileOnce(newReconciler(count.client()), bar); err != nil {
		t.Fatal(err)
	}
	if count.calls != 0 {
		t.Errorf("%d calls", count.calls)
	}
}

// counting counts what goes to the API server.
type counting struct{ calls int }

func (c *counting) client() client.Client {
	return interceptor.NewClient(server, interceptor.Funcs{
		Get: func(ctx context.Context, through client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			c.calls++
			return through.Get(ctx, key, object, opts...)
		},
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			c.calls++
			return nil
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			c.calls++
			return nil
		},
	})
}

// An object of the wanted name that is not ours is left alone, whatever it looks like; when it goes, the Bar is made.
func TestForeignObjectInTheWay(t *testing.T) {
	cases := map[string]func(*corev1.Service, *v1alpha1.Bar){
		"unowned": func(*corev1.Service, *v1alpha1.Bar) {},
		"labelled": func(s *corev1.Service, bar *v1alpha1.Bar) {
			s.Labels = map[string]string{v1alpha1.BarLabel: bar.Name}
		},
		"owned": func(s *corev1.Service, bar *v1alpha1.Bar) {
			s.OwnerReferences = []metav1.OwnerReference{controllerOf(bar)}
		},
		"other-owner": func(s *corev1.Service, bar *v1alpha1.Bar) {
			owner := controllerOf(bar)
			owner.UID = "another"
			s.OwnerReferences, s.Labels = []metav1.OwnerReference{owner}, map[string]string{v1alpha1.BarLabel: bar.Name}
		},
	}
	for name, disguise := range cases {
		t.Run(name, func(t *testing.T) {
			namespace := newNamespace(t, "foreign-"+name)
			bar := newBar(t, namespace, "web", "internal")
			class := &v1alpha1.BarClass{}
			if err := server.Get(t.Context(), client.ObjectKey{Name: "internal"}, class); err != nil {
				t.Fatal(err)
			}
			wanted, err := providers[v1alpha1.ServiceProvider].Desired(bar, class)
			if err != nil {
				t.Fatal(err)
			}
			foreign := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wanted[0].GetName()},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"app": "web"}},
			}
			disguise(foreign, bar)
			if err := server.Create(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			before := foreign.ResourceVersion

			r := newReconciler(server)
			settle(t, r, bar)
			expect(t, bar, v1alpha1.PhaseFailed, v1alpha1.ReasonConflict)
			if target := find(bar.Status.Targets, targetKey{"", "Service", namespace, foreign.Name}); target == nil || target.State != v1alpha1.TargetPlanned {
				t.Errorf("the deletion of what is in the way could not be mapped to the Bar: %+v", bar.Status.Targets)
			}
			if err := server.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || foreign.ResourceVersion != before {
				t.Errorf("the foreign object was touched: %v", err)
			}
			if err := server.Delete(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			settle(t, r, bar)
			expect(t, bar, v1alpha1.PhaseReady, v1alpha1.ReasonProvisioned)

			change(t, bar, released)
			settle(t, r, bar)
			if reload(t, bar) || len(services(t, namespace)) != 0 {
				t.Error("something is left")
			}
		})
	}
}

// A Bar that is released while a foreign object is in its way leaves that alone.
func TestReleaseLeavesForeignObjects(t *testing.T) {
	namespace := newNamespace(t, "release-foreign")
	bar := newBar(t, namespace, "web", "internal")
	r := newReconciler(server)
	settle(t, r, bar)
	service := services(t, namespace)[0]
	if err := server.Delete(t.Context(), &service); err != nil {
		t.Fatal(err)
	}
	foreign := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service.Name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if err := server.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	change(t, bar, released)
	settle(t, r, bar)
	if reload(t, bar) {
		t.Errorf("the Bar is left: %+v", bar.Status)
	}
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil {
		t.Error(err)
	}
}

// Another controller's finalizer keeps the Bar until the object is really gone.
func TestReleaseWaitsForFinalizers(t *testing.T) {
	namespace := newNamespace(t, "finalizer")
	bar := newBar(t, namespace, "web", "public")
	r := newReconciler(server)
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseProvisioning, v1alpha1.ReasonAddressPending)
	service := services(t, namespace)[0]
	service.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}
	if err := server.Update(t.Context(), &service); err != nil {
		t.Fatal(err)
	}
	change(t, bar, released)
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseReleasing, v1alpha1.ReasonTerminating)
	waits := "waiting for Service " + service.Name + ", which is held by finalizer service.kubernetes.io/load-balancer-cleanup"
	if got := bar.Status.Conditions[0].Message; got != waits {
		t.Errorf("the Bar says %q, want %q", got, waits)
	}
	if len(bar.Status.Targets) != 1 || bar.Status.Targets[0].State != v1alpha1.TargetDeleting {
		t.Errorf("targets %+v", bar.Status.Targets)
	}
	service = services(t, namespace)[0]
	service.Finalizers = nil
	if err := server.Update(t.Context(), &service); err != nil {
		t.Fatal(err)
	}
	settle(t, r, bar)
	if reload(t, bar) {
		t.Errorf("the Bar is left: %+v", bar.Status)
	}
}

// A class that is gone takes nothing away, and does not keep a Bar from being released.
func TestClassGone(t *testing.T) {
	class := &v1alpha1.BarClass{
		ObjectMeta: metav1.ObjectMeta{Name: "passing"},
		Spec:       v1alpha1.BarClassSpec{Provider: v1alpha1.BarProvider{Type: v1alpha1.ServiceProvider, Service: &v1alpha1.ServiceProviderSpec{}}},
	}
	if err := server.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	namespace := newNamespace(t, "class-gone")
	bar := newBar(t, namespace, "web", "passing")
	r := newReconciler(server)
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseReady, v1alpha1.ReasonProvisioned)
	if err := server.Delete(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseFailed, v1alpha1.ReasonBarClassNotFound)
	if len(services(t, namespace)) != 1 || len(bar.Status.Addresses) != 1 {
		t.Errorf("the Service or its address is gone: %+v", bar.Status)
	}
	r.Providers = nil // a version of the operator that does not know the provider can release it all the same
	change(t, bar, released)
	settle(t, r, bar)
	if reload(t, bar) || len(services(t, namespace)) != 0 {
		t.Errorf("something is left: %+v", bar.Status)
	}
}

// Without its CRD a kind of route cannot be made, and the Bar says what to install.
func TestKindNotInstalled(t *testing.T) {
	bar := newBar(t, newNamespace(t, "not-installed"), "web", "tls")
	settle(t, newReconciler(server), bar)
	expect(t, bar, v1alpha1.PhaseFailed, v1alpha1.ReasonKindNotInstalled)
	ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady)
	if !strings.Contains(ready.Message, "no kind TLSRoute of group gateway.networking.k8s.io") {
		t.Errorf("message %q", ready.Message)
	}
}

// What the Gateway says of the route reaches the Bar.
func TestRouteNotAccepted(t *testing.T) {
	bar := newBar(t, newNamespace(t, "not-accepted"), "web", "web")
	r := newReconciler(server)
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
	playGateway(t, "not-accepted", "False", "NotAllowedByListeners", "namespace is not allowed")
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRouteNotAccepted)
	if ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady); !strings.Contains(ready.Message, "namespace is not allowed") {
		t.Errorf("message %q", ready.Message)
	}
}

// A route that somebody else changed is mended.
func TestRouteDrift(t *testing.T) {
	bar := newBar(t, newNamespace(t, "drift"), "web", "web")
	r := newReconciler(server)
	settle(t, r, bar)
	route := routes(t, "drift")[0]
	route.Object["spec"].(map[string]any)["hostnames"] = []any{"stolen.example.com"} //nolint:forcetypeassert // as it was made
	if err := server.Update(t.Context(), &route); err != nil {
		t.Fatal(err)
	}
	settle(t, r, bar)
	spec := routes(t, "drift")[0].Object["spec"].(map[string]any) //nolint:forcetypeassert // as it was made
	if hosts, ok := spec["hostnames"].([]any); !ok || len(hosts) != 1 || hosts[0] != "web.drift.example.com" {
		t.Errorf("hostnames %v", spec["hostnames"])
	}
}

// A refusal that sends no event when it ends is tried again after a while, and not at once.
func TestQuota(t *testing.T) {
	namespace := newNamespace(t, "quota")
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"services.loadbalancers": resource.MustParse("0")}},
	}
	if err := server.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	quota.Status.Hard = quota.Spec.Hard // as the controller manager does
	quota.Status.Used = quota.Spec.Hard
	if err := server.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	bar := newBar(t, namespace, "web", "public")
	r := newReconciler(server)
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseFailed, v1alpha1.ReasonRefused)
	result, err := r.Reconcile(t.Context(), requestFor(bar))
	if err != nil || result.RequeueAfter < refusedAtLeast {
		t.Errorf("result %+v, error %v", result, err)
	}
	if err := server.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { // the admission plugin knows quotas by a watch
		settle(t, r, bar)
		return bar.Status.Phase == v1alpha1.PhaseProvisioning
	})
}

// Whoever acts on what a cache still shows makes nothing and deletes nothing.
func TestStaleCache(t *testing.T) {
	namespace := newNamespace(t, "stale")
	bar := newBar(t, namespace, "web", "internal")
	r := newReconciler(server)
	settle(t, r, bar)
	stale := bar.DeepCopy()
	change(t, bar, released)
	settle(t, r, bar)

	planned := stale.DeepCopy()
	planned.Status.Phase, planned.Status.Targets[0].State, planned.Status.Targets[0].UID = v1alpha1.PhaseProvisioning, v1alpha1.TargetPlanned, ""
	late := newReconciler(server)
	for _, old := range []*v1alpha1.Bar{stale, planned} {
		late.Cache = frozen{Reader: server, bar: old}
		if err := reconcileOnce(late, old); err != nil {
			t.Fatal(err)
		}
	}
	if left := services(t, namespace); len(left) != 0 {
		t.Errorf("a Service was made for a Bar that is gone: %s", left[0].Name)
	}

	again := newBar(t, namespace, "web", "internal")
	settle(t, r, again)
	deleting := again.DeepCopy()
	deleting.ResourceVersion = stale.ResourceVersion
	deleting.Spec.Release = true
	deleting.Status.Phase, deleting.Status.Targets[0].State = v1alpha1.PhaseReleasing, v1alpha1.TargetDeleting
	deleting.Status = releasing(deleting, deleting.Status.Targets, nil, nil)
	late.Cache = frozen{Reader: server, bar: deleting}
	if err := reconcileOnce(late, deleting); err != nil && !apierrors.IsConflict(err) {
		t.Fatal(err)
	}
	if len(services(t, namespace)) != 1 {
		t.Error("the Service of a new Bar was deleted for the sake of an old one")
	}
}

// frozen is a cache that does not hear of a Bar any more.
type frozen struct {
	client.Reader
	bar *v1alpha1.Bar
}

func (f frozen) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if bar, ok := object.(*v1alpha1.Bar); ok {
		f.bar.DeepCopyInto(bar)
		return nil
	}
	return f.Reader.Get(ctx, key, object, opts...)
}
