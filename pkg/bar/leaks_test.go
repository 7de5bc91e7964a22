package bar

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

var errBusy = errors.New("the API server is busy")

// A Bar that is deleted while the first live list runs is not recorded by that list.
func TestBarDeletedDuringTheList(t *testing.T) {
	gone := &v1alpha1.Bar{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "gone", UID: "gone", ResourceVersion: "1"}}
	gone.Status.Targets = []v1alpha1.BarTarget{{Kind: "HTTPRoute", Name: "x", Holds: "hostname/gone.example.com", State: v1alpha1.TargetPlanned}}
	var r *Reconciler
	r = newReconciler(interceptor.NewClient(server, interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			if bars, ok := list.(*v1alpha1.BarList); ok {
				bars.Items = []v1alpha1.Bar{*gone}
			}
			r.barDeleted(gone) // its event overtakes the answer
			return nil
		},
	}))
	if err := r.prepareOwners(t.Context()); err != nil {
		t.Fatal(err)
	}
	if uid, known := r.owners.hasRecord(gone.Name); known || r.owners.holders["hostname/gone.example.com"] != nil {
		t.Errorf("the deleted Bar is recorded with UID %s, and holds %v", uid, r.owners.holders)
	}
	if r.owners.removed != nil {
		t.Errorf("the deletions are noted for ever: %v", r.owners.removed)
	}
}

// failThePlan makes the BarClass of a Bar that waits for it, and has the plan fail at its write:
// done says whether the API server has written it nevertheless. Then the class goes again.
func failThePlan(t *testing.T, r *Reconciler, bar *v1alpha1.Bar, done bool) {
	t.Helper()
	shared := &v1alpha1.BarClass{}
	if err := server.Get(t.Context(), client.ObjectKey{Name: "shared"}, shared); err != nil {
		t.Fatal(err)
	}
	class := &v1alpha1.BarClass{ObjectMeta: metav1.ObjectMeta{Name: bar.Spec.ClassName}, Spec: shared.Spec}
	if err := server.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	through := r.Client
	r.Client = interceptor.NewClient(server, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if done {
				return errors.Join(errBusy, c.SubResource(sub).Patch(ctx, object, patch, opts...))
			}
			return errBusy
		},
	})
	if err := reconcileOnce(r, bar); !errors.Is(err, errBusy) {
		t.Fatalf("got %v", err)
	}
	r.Client = through
	if err := server.Delete(t.Context(), class); err != nil {
		t.Fatal(err)
	}
}

// A name that was granted, and whose record could not be written, is free again when the Bar cannot
// use it.
func TestGrantOfAFailedPlan(t *testing.T) {
	bar := newBar(t, newNamespace(t, "failed-plan"), "failed-plan", "failed-plan")
	rival := newBar(t, newNamespace(t, "failed-plan-rival"), "failed-plan", "shared")
	r, _ := withQueue(t)
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseFailed, v1alpha1.ReasonBarClassNotFound)
	failThePlan(t, r, bar, false)
	settle(t, r, rival)
	expect(t, rival, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken) // the next try may need it
	settle(t, r, bar)
	settle(t, r, rival)
	expect(t, rival, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
}

// A name whose record was written stays granted although the answer was lost and the cache does not
// have it yet.
func TestGrantOfALostAnswer(t *testing.T) {
	bar := newBar(t, newNamespace(t, "lost-answer"), "lost-answer", "lost-answer")
	rival := newBar(t, newNamespace(t, "lost-answer-rival"), "lost-answer", "shared")
	r, _ := withQueue(t)
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseFailed, v1alpha1.ReasonBarClassNotFound)
	stale := bar.DeepCopy()
	failThePlan(t, r, bar, true)
	r.Cache = frozen{Reader: server, bar: stale}
	if _, err := r.Reconcile(t.Context(), requestFor(bar)); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
	r.Cache = server
	settle(t, r, rival)
	expect(t, rival, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
}

// uncached serves one namespace, whose cache does not have routes yet.
type uncached struct {
	namespaces
	name      string
	suspected *[]string
}

func (u uncached) Served() []*tenancy.Namespace {
	return []*tenancy.Namespace{{Name: u.name, Reader: u, Omitted: u.omitted}}
}

func (u uncached) Suspect(name string) { *u.suspected = append(*u.suspected, name) }

func (uncached) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return &cache.ErrResourceNotCached{}
}

func (uncached) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return &cache.ErrResourceNotCached{}
}

// handMade makes a route that no Bar made.
func handMade(t *testing.T, namespace, host string) {
	t.Helper()
	route := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"hostnames": []any{host}}}}
	route.SetGroupVersionKind(routeKind)
	route.SetNamespace(namespace)
	route.SetName("own")
	if err := server.Create(t.Context(), route); err != nil {
		t.Fatal(err)
	}
}

// Routes of a kind that a namespace's cache does not have yet are listed live before a name is
// granted.
func TestKindThatIsNotCachedYet(t *testing.T) {
	namespace := newNamespace(t, "not-cached")
	handMade(t, namespace, "not-cached.example.com")
	bar := newBar(t, newNamespace(t, "not-cached-rival"), "not-cached", "shared")
	var suspected []string
	served := uncached{name: namespace, suspected: &suspected}
	r := newReconciler(server)
	r.Namespaces = served
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)

	lacksRight := apierrors.NewForbidden(schema.GroupResource{Resource: "httproutes"}, "", errors.New(`User "u" cannot list resource "httproutes"`))
	r = newReconciler(interceptor.NewClient(server, interceptor.Funcs{
		List: func(ctx context.Context, through client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, bars := list.(*v1alpha1.BarList); bars {
				return through.List(ctx, list, opts...)
			}
			return lacksRight
		},
	}))
	r.Namespaces = served
	if result, err := r.Reconcile(t.Context(), requestFor(bar)); err != nil || result.RequeueAfter == 0 || len(suspected) != 1 || suspected[0] != namespace {
		t.Errorf("the right is missing since a moment ago: %+v, %v, suspected %v", result, err, suspected)
	}
	served.omitted = func(kind schema.GroupKind) error {
		return &tenancy.AccessDeniedError{Namespace: namespace, Verb: "list", Resource: kind.Kind, Optional: true}
	}
	r.Namespaces = served
	if err := r.readUsers(t.Context()); err != nil {
		t.Errorf("a namespace that is served without routes keeps all others from theirs: %v", err)
	}
}

// An object that was made anew under its key, and was seen, is not forgotten with the one before.
func TestGoneObjectOfAnOlderUID(t *testing.T) {
	object := func(uid types.UID) *unstructured.Unstructured {
		route := &unstructured.Unstructured{Object: map[string]any{}}
		route.SetGroupVersionKind(routeKind)
		route.SetNamespace("n")
		route.SetName("own")
		route.SetUID(uid)
		return route
	}
	o := newOwners(system)
	first, second := userOf(object("1"), []string{"a"}), userOf(object("2"), []string{"a"})
	o.sawObject(object("1"), []string{"a"})
	o.sawObject(object("2"), []string{"a"})
	o.goneObject(&first)
	if len(o.users.byName["a"]) != 1 {
		t.Error("the new object is forgotten")
	}
	o.goneObject(&second)
	if len(o.users.byName) != 0 || len(o.users.objects) != 0 {
		t.Errorf("left: %v", o.users)
	}
}

// A route that no Bar made counts as long as its namespace is a Tenant's, whether the operator may
// look there or not.
func TestForeignRouteOfANamespaceThatNoTenantNames(t *testing.T) {
	namespace := newNamespace(t, "unassigned")
	handMade(t, namespace, "unassigned.example.com")
	bar := newBar(t, newNamespace(t, "unassigned-rival"), "unassigned", "shared")
	r, _ := withQueue(t)
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
	n := lost(time.Hour, namespace)
	r.Namespaces = n
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseFailed, v1alpha1.ReasonHostnameTaken)
	n.unassigned = map[string]bool{namespace: true}
	r.Namespaces = n
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseProvisioning, v1alpha1.ReasonRoutePending)
}

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
