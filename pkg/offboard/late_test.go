package offboard

import (
	"context"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/controlee/controlee/pkg/tenancy"
)

var tunnel = schema.GroupKind{Group: "example.com", Kind: "Tunnel"}

// crd is the API server's view of kind Tunnel: the versions that it serves. It stores one object.
type crd struct{ versions []string }

func (c *crd) ServerGroupsWithContext(context.Context) (*metav1.APIGroupList, error) {
	group := metav1.APIGroup{Name: tunnel.Group}
	for _, version := range c.versions {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: tunnel.Group + "/" + version, Version: version})
	}
	return &metav1.APIGroupList{Groups: []metav1.APIGroup{group}}, nil
}

func (c *crd) ServerResourcesForGroupVersionWithContext(context.Context, string) (*metav1.APIResourceList, error) {
	return &metav1.APIResourceList{APIResources: []metav1.APIResource{{Kind: tunnel.Kind}}}, nil
}

func (c *crd) list(ctx context.Context, next client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	tunnels, ok := list.(*unstructured.UnstructuredList)
	if !ok {
		return next.List(ctx, list, options...)
	}
	for _, version := range c.versions {
		if tunnels.GroupVersionKind().Version == version {
			tunnels.Items = make([]unstructured.Unstructured, 1)
			tunnels.Items[0].SetNamespace("ns")
			tunnels.Items[0].SetName("web")
			return nil
		}
	}
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "list", schema.GroupResource{Group: tunnel.Group, Resource: "tunnels"}, "", "404 page not found", 0, true)
}

// Objects of a kind are gone when the API server serves the kind in no version any more. That it no
// longer serves the version that is read says nothing of them.
func TestLeftOfAKind(t *testing.T) {
	cases := map[string]struct {
		reason        string
		before, after []string // versions that the API server serves when it is asked which kinds it has, and later
		want          string   // part of what is left; empty: nothing
	}{
		"Served":        {reason: "The version that is known.", before: []string{"v1"}, after: []string{"v1"}, want: "Tunnel ns/web"},
		"VersionGone":   {reason: "Only the version is gone; the objects are there in another one.", before: []string{"v1"}, after: []string{"v2"}, want: "Tunnel ns/web"},
		"UnknownAtOnce": {reason: "A kind that is served in versions that nobody here knows is not absent.", before: []string{"v2"}, after: []string{"v2"}, want: "Tunnel ns/web"},
		"Removed":       {reason: "The objects go with their CRD.", before: []string{"v1"}},
		"NeverThere":    {reason: "Without a CRD there are no objects."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			api, kinds := &crd{versions: tc.before}, []tenancy.LateKind{{GroupKind: tunnel, Versions: []string{"v1"}}}
			tenant := leaving()
			server := interceptor.NewClient(newServer(t, tenant, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}), interceptor.Funcs{List: api.list})
			r := &Reconciler{
				Namespaces: served{"ns": newServer(t)}, Cache: server, Client: server,
				Late: tenancy.NewLateKinds(api, kinds), Kinds: kinds, SystemNamespace: system,
			}
			if err := r.Late.Ask(t.Context()); err != nil {
				t.Fatal(err)
			}
			api.versions = tc.after
			left, err := r.left(t.Context(), tenant, true)
			if err != nil {
				t.Fatal(err)
			}
			if (len(left) == 0) != (tc.want == "") || !strings.Contains(strings.Join(left, "; "), tc.want) {
				t.Errorf("%s\ngot %q", tc.reason, left)
			}
		})
	}
}
