package offboard

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

const system = "controlee-system"

// served are the namespaces that are served for team-a.
type served map[string]client.Reader

func (s served) Lookup(name string) (*tenancy.Namespace, bool) {
	reader, ok := s[name]
	return &tenancy.Namespace{Name: name, Tenant: "team-a", Reader: reader}, ok
}

func newServer(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Tenant{}).WithObjects(objects...).Build()
}

func leaving() *v1alpha1.Tenant {
	return &v1alpha1.Tenant{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "team-a", Generation: 1},
		Spec:       v1alpha1.TenantSpec{Namespaces: []string{"ns"}, Leaving: true},
	}
}

func bar(tenant, namespace string, changes ...func(*v1alpha1.Bar)) *v1alpha1.Bar {
	b := &v1alpha1.Bar{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "web-1"},
		Spec:       v1alpha1.BarSpec{Tenant: tenant, SourceRef: v1alpha1.BarSourceReference{Kind: v1alpha1.SourceDeployment, Namespace: namespace, Name: "web"}},
	}
	for _, change := range changes {
		change(b)
	}
	return b
}

func TestLeft(t *testing.T) {
	object := metav1.ObjectMeta{Namespace: "ns", Name: "web"}
	annotated := func(annotations map[string]string) metav1.ObjectMeta {
		o := object
		o.Annotations = annotations
		return o
	}
	made := func(change func(*corev1.Service)) *corev1.Service {
		s := &corev1.Service{ObjectMeta: object}
		s.Labels = map[string]string{v1alpha1.BarLabel: "web-1"}
		if change != nil {
			change(s)
		}
		return s
	}
	foo := func(change func(*v1alpha1.Foo)) *v1alpha1.Foo {
		f := &v1alpha1.Foo{ObjectMeta: object}
		change(f)
		return f
	}
	cases := map[string]struct {
		reason string
		object client.Object
		want   string // part of what is listed; empty: nothing is left
	}{
		"Nothing":     {reason: "Sources without a trace of the operator do not count.", object: &appsv1.Deployment{ObjectMeta: annotated(map[string]string{v1alpha1.BarClassAnnotation: "internal"})}},
		"Bar":         {reason: "A Bar of the tenant.", object: bar("team-a", "elsewhere"), want: "Bar web-1 of Deployment elsewhere/web"},
		"BarInside":   {reason: "A Bar in one of its namespaces, whoever it is recorded for.", object: bar("other", "ns"), want: "Bar web-1 of Deployment ns/web"},
		"BarOfOthers": {reason: "Others' Bars are not the tenant's.", object: bar("other", "elsewhere")},
		"BarHeld": {reason: "What a Bar waits for is said.", want: "Bar web-1 of Deployment ns/web (Service ns/x is held)", object: bar("team-a", "ns", func(b *v1alpha1.Bar) {
			b.Spec.Release, b.Status.Phase = true, v1alpha1.PhaseReleasing
			meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: v1alpha1.BarReady, Reason: v1alpha1.ReasonTerminating, Message: "Service ns/x is held"})
		})},
		"Made":          {reason: "An object of a Bar.", object: made(nil), want: "Service ns/web"},
		"MadeElsewhere": {reason: "Other namespaces are not the tenant's.", object: made(func(s *corev1.Service) { s.Namespace = "elsewhere" })},
		"MadeHeld": {reason: "What holds it is said.", want: "held by the finalizers example.com/hold", object: made(func(s *corev1.Service) {
			s.Finalizers, s.DeletionTimestamp = []string{"example.com/hold"}, ptr.To(metav1.Now())
		})},
		"Refusal": {reason: "A source that had only a refusal. What refuses the removal is in its Events.", object: &appsv1.Deployment{ObjectMeta: annotated(map[string]string{v1alpha1.BarStateAnnotation: "OverLimit"})}, want: "the annotation controlee.dev/bar-state of Deployment ns/web (if it stays, see the Events of Deployment ns/web)"},
		"Service": {reason: "The same of a Service.", object: &corev1.Service{ObjectMeta: annotated(map[string]string{v1alpha1.BarAddressAnnotation: "x"})}, want: "the annotation controlee.dev/bar-address of Service ns/web (if it stays, see the Events of Service ns/web)"},
		"Ingress": {reason: "The status of a Service has no Events.", object: &corev1.Service{
			ObjectMeta: object, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To(v1alpha1.LoadBalancerClassPrefix + "internal")},
			Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}},
		}, want: "status.loadBalancer of Service ns/web (if it stays, see the operator's log)"},
		"Foo": {reason: "A Foo that still says that it is managed.", object: foo(func(*v1alpha1.Foo) {}), want: "Foo ns/web"},
		"FooReported": {reason: "One that says that it is not.", object: foo(func(f *v1alpha1.Foo) {
			meta.SetStatusCondition(&f.Status.Conditions, metav1.Condition{Type: v1alpha1.FooReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonTenantLeaving})
		})},
		"FooGoing": {reason: "One that is being deleted is written no more.", object: foo(func(f *v1alpha1.Foo) {
			f.Finalizers, f.DeletionTimestamp = []string{"example.com/hold"}, ptr.To(metav1.Now())
		})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tenant := leaving()
			server := newServer(t, tc.object, tenant)
			r := &Reconciler{
				Namespaces: served{"ns": server}, Cache: server, Client: server, Late: tenancy.NewLateKinds(nil, nil), SystemNamespace: system,
			}
			for _, live := range []bool{false, true} {
				left, err := r.left(t.Context(), tenant, live)
				if err != nil {
					t.Fatal(err)
				}
				if (len(left) == 0) != (tc.want == "") || !strings.Contains(strings.Join(left, "; "), tc.want) || len(left) > 1 {
					t.Errorf("%s\ngot %q", tc.reason, left)
				}
			}
		})
	}
}

// A namespace that is not served is not known to be free of load balancers, unless it does not
// exist.
func TestLeftInANamespaceThatIsNotServed(t *testing.T) {
	tenant := leaving()
	tenant.Status.Namespaces = []v1alpha1.TenantNamespaceStatus{{Name: "ns", State: v1alpha1.NamespaceRefused, Message: "the RoleBinding is missing"}}
	server := newServer(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	r := &Reconciler{Namespaces: served{}, Cache: server, Client: server, Late: tenancy.NewLateKinds(nil, nil), SystemNamespace: system}
	left, err := r.left(t.Context(), tenant, false)
	if err != nil || len(left) != 1 || !strings.Contains(left[0], "namespace ns, which is not served") || !strings.Contains(left[0], "the RoleBinding is missing") {
		t.Errorf("got %q, %v", left, err)
	}
	r.Client = newServer(t)
	if left, err := r.left(t.Context(), tenant, false); err != nil || len(left) > 0 {
		t.Errorf("a namespace that does not exist: %q, %v", left, err)
	}
}

// Caches that lag behind do not make a Tenant released.
func TestReleasedIsConfirmedLive(t *testing.T) {
	tenant := leaving()
	cached, server := newServer(t, tenant.DeepCopy()), newServer(t, tenant, bar("team-a", "ns"))
	// Resource versions are those of the API server.
	r := &Reconciler{Namespaces: served{"ns": cached}, Cache: cached, Client: server, Late: tenancy.NewLateKinds(nil, nil), SystemNamespace: system}
	result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(tenant)})
	if err != nil || result.RequeueAfter == 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(tenant), tenant); err != nil {
		t.Fatal(err)
	}
	if index := slices.IndexFunc(tenant.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1alpha1.TenantReleased }); index < 0 ||
		tenant.Status.Conditions[index].Status != metav1.ConditionFalse {
		t.Errorf("got %+v", tenant.Status)
	}
}

func TestOwnNamespaces(t *testing.T) {
	tenant := &v1alpha1.Tenant{
		Spec: v1alpha1.TenantSpec{Namespaces: []string{"own", "claimed", "new"}},
		Status: v1alpha1.TenantStatus{Namespaces: []v1alpha1.TenantNamespaceStatus{
			{Name: "own", Reason: v1alpha1.ReasonEngaged}, {Name: "claimed", Reason: v1alpha1.ReasonNamespaceClaimed},
		}},
	}
	// A namespace that an older Tenant has is not this one's to release, or its release would never end.
	if got := ownNamespaces(tenant); !slices.Equal(got, []string{"own", "new"}) {
		t.Errorf("%v", got)
	}
}
