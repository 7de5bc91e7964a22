package tenancy

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

var (
	tunnel = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Tunnel"}
	bridge = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Bridge"}
)

// authorizer answers access reviews.
type authorizer struct {
	mu     sync.Mutex
	denied map[string]bool // "verb resource"
	asked  int
}

func (a *authorizer) deny(right string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.denied[right] = true
}

// newTestRegistry makes a Registry that caches Services, and the late kinds Tunnel and Bridge, in a
// cluster that has both.
func newTestRegistry(t *testing.T, rights *authorizer) *Registry {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Service"), tunnel, bridge} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	late := NewLateKinds(&answers{kinds: map[string][]string{"example.com/v1": {"Tunnel", "Bridge"}}}, []LateKind{
		{GroupKind: tunnel.GroupKind(), Versions: []string{"v1"}}, {GroupKind: bridge.GroupKind(), Versions: []string{"v1"}},
	})
	if err := late.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	return NewRegistry(Options{
		Scheme: clientgoscheme.Scheme, Mapper: mapper, Late: late, Kinds: []client.Object{&corev1.Service{}},
		Rights: []authorizationv1.ResourceAttributes{{Verb: "patch", Resource: "services"}},
		Client: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
			Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
				review, ok := object.(*authorizationv1.SelfSubjectAccessReview)
				if !ok || review.Spec.ResourceAttributes.Namespace != "team-a" {
					t.Errorf("created %T %+v", object, object)
					return nil
				}
				rights.mu.Lock()
				defer rights.mu.Unlock()
				rights.asked++
				review.Status.Allowed = !rights.denied[review.Spec.ResourceAttributes.Verb+" "+review.Spec.ResourceAttributes.Resource]
				return nil
			},
		}).Build(),
	})
}

// caches stands for the cache of a namespace.
type caches struct {
	cache.Cache
	kinds map[string]bool // whose informer runs
	fail  error           // what becomes of a fill
}

func (c *caches) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	c.kinds[object.GetObjectKind().GroupVersionKind().Kind] = true
	return nil, c.fail
}

func (c *caches) RemoveInformer(_ context.Context, object client.Object) error {
	delete(c.kinds, object.GetObjectKind().GroupVersionKind().Kind)
	return nil
}

func TestAccessOfRequiredKinds(t *testing.T) {
	cases := map[string]struct {
		reason string
		denied string
		want   string // part of the error
	}{
		"All":         {reason: "Nothing is missing."},
		"Kind":        {reason: "Without a required kind the namespace cannot be served.", denied: "list services", want: "may not list services in namespace team-a: the namespace or its RoleBinding controlee-operator is missing"},
		"Right":       {reason: "The same goes for a right.", denied: "patch services", want: "may not patch services"},
		"Optional":    {reason: "A kind that the operator may not list yet, as after an upgrade, costs the namespace nothing else.", denied: "list tunnels"},
		"OptionalToo": {reason: "The same goes for the right to write it.", denied: "patch tunnels"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newTestRegistry(t, &authorizer{denied: map[string]bool{tc.denied: true}})
			err := r.access.check(t.Context(), "team-a")
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot %v", tc.reason, err)
			}
		})
	}
}

// A namespace is served without an optional kind that the operator may not list there, says so, and
// gets the kind when it may.
func TestAnOptionalKindThatIsDenied(t *testing.T) {
	for _, verb := range optionalVerbs {
		t.Run(verb, func(t *testing.T) {
			rights := &authorizer{denied: map[string]bool{verb + " tunnels": true}}
			r := newTestRegistry(t, rights)
			r.Assign(Assignment{Tenants: map[string]string{"team-a": "a"}})
			told := 0
			r.notify(func(string) { told++ })
			e, objects := r.engagements["team-a"], &caches{kinds: map[string]bool{}}
			expect := func(tunnels bool) {
				t.Helper()
				namespace, served := r.Lookup("team-a")
				if !served || !objects.kinds["Bridge"] || objects.kinds["Tunnel"] != tunnels {
					t.Fatalf("served %v with %v, want Tunnel %v", served, objects.kinds, tunnels)
				}
				err, state := namespace.Denied(tunnel.GroupKind()), r.States("a")["team-a"]
				if (err == nil) != tunnels || !tunnels && !errors.As(err, new(*AccessDeniedError)) || namespace.Denied(bridge.GroupKind()) != nil {
					t.Errorf("denied: %v", err)
				}
				if want := "served without Tunnel: the operator may not " + verb + " tunnels.example.com in namespace team-a"; state.State != v1alpha1.NamespaceEngaged ||
					strings.HasPrefix(state.Message, want) == tunnels {
					t.Errorf("state %+v", state)
				}
			}
			e.forgetLate()
			e.followLate(t.Context(), objects)
			e.engage(t.Context(), objects)
			expect(false)
			before := told
			e.followLate(t.Context(), objects)
			if told != before {
				t.Error("the Tenant is told although nothing has changed")
			}

			rights.denied = nil
			e.followLate(t.Context(), objects)
			expect(true)
			if told == before {
				t.Error("the Tenant is not told")
			}

			// The right goes while the kind is cached: it is dropped, and nothing else.
			rights.denied = map[string]bool{verb + " tunnels": true}
			defer func(delays []time.Duration) { confirmLoss = delays }(confirmLoss)
			confirmLoss = []time.Duration{0, 0}
			lost, err := e.confirm(t.Context())
			if err != nil || len(lost) != 1 || lost[0] != tunnel {
				t.Fatalf("lost %v, %v", lost, err)
			}
			e.stopLate(t.Context(), objects, lost[0])
			e.followLate(t.Context(), objects)
			expect(false)
			asked := rights.asked
			if lost, err := e.confirm(t.Context()); len(lost) > 0 || err != nil {
				t.Errorf("lost %v, %v", lost, err)
			}
			if got := rights.asked - asked; got > 2*(2+len(optionalVerbs)) {
				t.Errorf("%d access reviews to confirm that nothing was lost", got)
			}
			e.lateTimer.Stop()
		})
	}
}

// Rights on a RoleBinding that goes are confirmed to the end: the authorizer may learn of it
// between two reviews.
func TestALossIsConfirmedAlthoughAnOptionalKindIsLostFirst(t *testing.T) {
	rights := &authorizer{}
	r := newTestRegistry(t, rights)
	r.Assign(Assignment{Tenants: map[string]string{"team-a": "a"}})
	e, objects := r.engagements["team-a"], &caches{kinds: map[string]bool{}}
	e.forgetLate()
	e.followLate(t.Context(), objects)
	defer func(delays []time.Duration) { confirmLoss = delays }(confirmLoss)
	confirmLoss = []time.Duration{0, 200 * time.Millisecond}
	rights.denied = map[string]bool{"list tunnels": true}
	time.AfterFunc(100*time.Millisecond, func() { rights.deny("list services") })
	if _, err := e.confirm(t.Context()); !errors.As(err, new(*AccessDeniedError)) {
		t.Errorf("the loss of the namespace was not seen: %v", err)
	}
}

// The informer of a kind that could not be read ends: it would list for ever, and its watch would
// keep a kind cached that the namespace is said to be served without.
func TestAFailedFillEndsItsInformer(t *testing.T) {
	r := newTestRegistry(t, &authorizer{})
	r.Assign(Assignment{Tenants: map[string]string{"team-a": "a"}})
	e, objects := r.engagements["team-a"], &caches{kinds: map[string]bool{}, fail: context.DeadlineExceeded}
	e.forgetLate()
	e.followLate(t.Context(), objects)
	e.lateTimer.Stop()
	if len(objects.kinds) > 0 || len(e.omitted) != 2 {
		t.Errorf("the informers of %v run, %v are left out", objects.kinds, e.omitted)
	}
	objects.fail = nil
	e.followLate(t.Context(), objects)
	if len(objects.kinds) != 2 || len(e.omitted) > 0 {
		t.Errorf("the informers of %v run, %v are left out", objects.kinds, e.omitted)
	}
}

// A resync of the cache is no sign that a right was lost.
func TestAResyncAsksForNoAccess(t *testing.T) {
	object := func(version string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	}
	e := newEngagement(NewRegistry(Options{}), "team-a", "a")
	handler := e.bindingEvents()
	handler.OnUpdate(object("1"), object("1"))
	if len(e.wake) > 0 {
		t.Error("a resync has the access checked")
	}
	handler.OnUpdate(object("1"), object("2"))
	if len(e.wake) == 0 {
		t.Error("a change does not have the access checked")
	}
}
