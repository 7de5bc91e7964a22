package tenancy

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// answers stands for an API server's discovery: the kinds by group and version.
type answers struct {
	kinds    map[string][]string
	err      error
	hang     bool
	asked    []string
	notFound int
}

func (a *answers) ServerGroupsWithContext(ctx context.Context) (*metav1.APIGroupList, error) {
	if a.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if a.err != nil {
		return nil, a.err
	}
	list := &metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "other.example.com", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "other.example.com/v1"}}}}}
	for gv := range a.kinds {
		list.Groups = append(list.Groups, metav1.APIGroup{Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: gv}}})
	}
	return list, nil
}

func (a *answers) ServerResourcesForGroupVersionWithContext(_ context.Context, gv string) (*metav1.APIResourceList, error) {
	a.asked = append(a.asked, gv)
	kinds, found := a.kinds[gv]
	if !found {
		a.notFound++
		return nil, apierrors.NewNotFound(schema.GroupResource{}, gv)
	}
	list := &metav1.APIResourceList{}
	for _, kind := range kinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{Kind: kind})
	}
	return list, nil
}

func TestLateKinds(t *testing.T) {
	tunnel := schema.GroupKind{Group: "example.com", Kind: "Tunnel"}
	bridge := schema.GroupKind{Group: "example.com", Kind: "Bridge"}
	server := &answers{kinds: map[string][]string{}}
	late := NewLateKinds(server, []LateKind{{GroupKind: tunnel, Versions: []string{"v1", "v1beta1"}}, {GroupKind: bridge, Versions: []string{"v1"}}})
	told := 0
	late.Notify(func() { told++ })

	if _, err := late.Version(tunnel); err == nil || errors.As(err, new(*NotInstalledError)) {
		t.Errorf("before the first answer nothing is known: %v", err)
	}
	ask := func(wantTold int) {
		t.Helper()
		server.asked = nil
		if err := late.Ask(t.Context()); err != nil {
			t.Fatal(err)
		}
		if told != wantTold {
			t.Errorf("told %d times, want %d", told, wantTold)
		}
	}
	expect := func(kind schema.GroupKind, want string) {
		t.Helper()
		got, err := late.Version(kind)
		if notThere := (*NotInstalledError)(nil); got != want || errors.As(err, &notThere) != (want == "") {
			t.Errorf("version %q of %s, error %v; want %q", got, kind, err, want)
		}
	}

	ask(1)
	expect(tunnel, "")
	if _, err := late.Version(bridge); err == nil || !strings.Contains(err.Error(), "no kind Bridge of group example.com (v1)") {
		t.Errorf("message %v", err)
	}
	if len(server.asked) != 0 {
		t.Errorf("asked for %v, which the API server does not have", server.asked)
	}
	ask(1) // nothing has changed

	server.kinds["example.com/v1beta1"] = []string{"Tunnel"}
	ask(2)
	expect(tunnel, "v1beta1")
	expect(bridge, "")
	server.kinds["example.com/v1"] = []string{"Tunnel", "Bridge"}
	ask(3)
	expect(tunnel, "v1") // the best comes first
	expect(bridge, "v1")
	if !slices.Equal(server.asked, []string{"example.com/v1"}) {
		t.Errorf("each version is asked for once, not %v", server.asked)
	}

	server.err = errors.New("the server is away")
	if err := late.Ask(t.Context()); err == nil {
		t.Error("no error")
	}
	expect(tunnel, "v1") // what was known stays known

	server.err = nil
	delete(server.kinds, "example.com/v1")
	ask(4)
	expect(bridge, "") // a CRD that was removed
	if _, err := late.Version(schema.GroupKind{Kind: "Other"}); err == nil || errors.As(err, new(*NotInstalledError)) {
		t.Errorf("a kind that nobody asks for: %v", err)
	}
	if server.notFound > 0 {
		t.Errorf("%d answers 404", server.notFound)
	}
}

// A call that hangs ends with the operator, and in any case after a while.
func TestAskingForLateKindsEndsWithItsContext(t *testing.T) {
	late := NewLateKinds(&answers{hang: true}, []LateKind{{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Tunnel"}, Versions: []string{"v1"}}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		late.learn(ctx)
	}()
	cancel()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("a hanging call holds up the end of the operator")
	}
}
