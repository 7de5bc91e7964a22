package foo

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
	"github.com/controlee/controlee/pkg/tenancy"
)

const system = "controlee-system"

// oneNamespace serves namespace ns for Tenant team-a.
type oneNamespace struct{ client.Reader }

func (n oneNamespace) Lookup(string) (*tenancy.Namespace, bool) { return n.Served()[0], true }

func (n oneNamespace) Suspect(string) {}

func (n oneNamespace) Served() []*tenancy.Namespace {
	return []*tenancy.Namespace{{Name: "ns", Tenant: "team-a", Reader: n.Reader}}
}

// newServer makes a client of the given objects that fails a test on every write, if it may not
// write.
func newServer(t *testing.T, mayWrite bool, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	refuse := func(what string) {
		if !mayWrite {
			t.Errorf("wrote %s", what)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.Foo{}).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			refuse("a child")
			return c.Apply(ctx, object, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, subresource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			refuse(subresource)
			return c.SubResource(subresource).Patch(ctx, object, patch, options...)
		},
	}).Build()
}

func tenantOf(leaving bool) *v1alpha1.Tenant {
	return &v1alpha1.Tenant{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "team-a"},
		Spec:       v1alpha1.TenantSpec{Namespaces: []string{"ns"}, Leaving: leaving},
	}
}

func TestLeavingEvents(t *testing.T) {
	other := tenantOf(true)
	other.Name = "team-b"
	moved := tenantOf(false)
	moved.Spec.Namespaces = []string{"other"}
	create := func(tenant *v1alpha1.Tenant, initial bool) func(handler.TypedEventHandler[*v1alpha1.Tenant, reconcile.Request], tenancy.Queue) {
		return func(h handler.TypedEventHandler[*v1alpha1.Tenant, reconcile.Request], queue tenancy.Queue) {
			h.Create(t.Context(), event.TypedCreateEvent[*v1alpha1.Tenant]{Object: tenant, IsInInitialList: initial}, queue)
		}
	}
	update := func(before, after *v1alpha1.Tenant) func(handler.TypedEventHandler[*v1alpha1.Tenant, reconcile.Request], tenancy.Queue) {
		return func(h handler.TypedEventHandler[*v1alpha1.Tenant, reconcile.Request], queue tenancy.Queue) {
			h.Update(t.Context(), event.TypedUpdateEvent[*v1alpha1.Tenant]{ObjectOld: before, ObjectNew: after}, queue)
		}
	}
	cases := map[string]struct {
		reason string
		send   func(handler.TypedEventHandler[*v1alpha1.Tenant, reconcile.Request], tenancy.Queue)
		want   int
	}{
		"Leaves":    {reason: "The Foos of a Tenant that begins to leave say so.", send: update(tenantOf(false), tenantOf(true)), want: 1},
		"Stays":     {reason: "They are managed again when it stays after all.", send: update(tenantOf(true), tenantOf(false)), want: 1},
		"Unchanged": {reason: "Other changes of a Tenant are nothing to Foos.", send: update(tenantOf(true), tenantOf(true))},
		"Moved":     {reason: "A namespace that leaves the spec and comes back at once can stay served.", send: update(moved, tenantOf(false)), want: 1},
		"Recreated": {
			reason: "kubectl replace --force deletes and creates: the namespaces can stay served, and no event of a Foo comes.",
			send:   create(tenantOf(true), false), want: 1,
		},
		"RecreatedToStay": {reason: "The same goes for one that was leaving before.", send: create(tenantOf(false), false), want: 1},
		"Start":           {reason: "At the start all Foos are queued anyway.", send: create(tenantOf(true), true)},
		"OfOthers":        {reason: "The Foos of another Tenant are nothing to it.", send: create(other, false)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer queue.ShutDown()
			server := newServer(t, false, &v1alpha1.Foo{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}})
			tc.send(leavingEvents(oneNamespace{server}), queue)
			if queue.Len() != tc.want {
				t.Errorf("%s\n%d Foos are queued, want %d", tc.reason, queue.Len(), tc.want)
			}
		})
	}
}

// Between the deletion of a Tenant and the end of its namespaces' service a Foo that said
// TenantLeaving must not say Ready again: nobody would correct that.
func TestReconcileWithoutATenant(t *testing.T) {
	foo := &v1alpha1.Foo{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}, Spec: v1alpha1.FooSpec{Image: "registry.example/web:1"}}
	going := tenantOf(false)
	going.Finalizers, going.DeletionTimestamp = []string{"example.com/hold"}, ptr.To(metav1.Now())
	renamed := tenantOf(false)
	renamed.Spec.Namespaces = []string{"other"}
	cases := map[string]struct {
		reason  string
		tenants []client.Object
		writes  bool
	}{
		"Deleted":       {reason: "A Tenant that is gone."},
		"NoLongerNamed": {reason: "One that no longer names the namespace has no say.", tenants: []client.Object{renamed}},
		"Going":         {reason: "One that is being deleted holds no namespace any more.", tenants: []client.Object{going}},
		"Leaving":       {reason: "One that is leaving: the status says so.", tenants: []client.Object{tenantOf(true)}, writes: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newServer(t, tc.writes, append(tc.tenants, foo.DeepCopy())...)
			r := &Reconciler{
				Namespaces: oneNamespace{server}, Cache: server, Client: server,
				Writer: apply.Writer{Client: server, FieldManager: FieldManager}, SystemNamespace: system,
			}
			if result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(foo)}); err != nil || result.RequeueAfter != 0 {
				t.Errorf("%s\n%+v, %v", tc.reason, result, err)
			}
			live := &v1alpha1.Foo{}
			if err := server.Get(t.Context(), client.ObjectKeyFromObject(foo), live); err != nil {
				t.Fatal(err)
			}
			if wrote := len(live.Status.Conditions) > 0; wrote != tc.writes {
				t.Errorf("%s\nconditions %+v", tc.reason, live.Status.Conditions)
			}
		})
	}
}
