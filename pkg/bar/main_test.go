package bar

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/provider/gateway"
	"github.com/controlee/controlee/pkg/provider/service"
	"github.com/controlee/controlee/pkg/tenancy"
	"github.com/controlee/controlee/test/cluster"
)

// The API server of all tests of this package, which have it to themselves: no operator runs, the tests call the reconciler.
var (
	control *cluster.Cluster
	server  client.WithWatch
	late    *tenancy.LateKinds
)

const system = "controlee-system"

var providers = provider.Set{v1alpha1.ServiceProvider: service.Provider{}, v1alpha1.GatewayProvider: gateway.Provider{}}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	var err error
	control, err = cluster.Start(ctx, cluster.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := 1
	if err := prepare(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	if err := control.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func prepare(ctx context.Context) error {
	paths, err := filepath.Glob("../../crds/*.yaml")
	if err != nil {
		return err
	}
	if err := control.InstallCRDs(ctx, paths...); err != nil {
		return err
	}
	if err := control.InstallGatewayAPI(ctx, "httproutes", "tcproutes"); err != nil {
		return err
	}
	config := rest.CopyConfig(control.AdminConfig())
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	if server, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	asking, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	late = tenancy.NewLateKinds(asking, providers.Kinds())
	// The API server may list a new CRD a moment after it is established.
	installed := func(ctx context.Context) (bool, error) {
		err := late.Ask(ctx)
		return err == nil && len(late.Present()) == 2, err
	}
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, installed); err != nil {
		return err
	}
	if err := server.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}}); err != nil {
		return err
	}
	for name, settings := range classes() {
		class := &v1alpha1.BarClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.BarClassSpec{Provider: settings}}
		if err := server.Create(ctx, class); err != nil {
			return err
		}
	}
	return nil
}

// classes are the BarClasses of all tests.
func classes() map[string]v1alpha1.BarProvider {
	of := func(kind corev1.ServiceType) v1alpha1.BarProvider {
		return v1alpha1.BarProvider{Type: v1alpha1.ServiceProvider, Service: &v1alpha1.ServiceProviderSpec{Type: kind}}
	}
	parent := v1alpha1.GatewayReference{Namespace: "infra", Name: "public"}
	route := func(kind v1alpha1.RouteKind, template string) v1alpha1.BarProvider {
		return v1alpha1.BarProvider{Type: v1alpha1.GatewayProvider, Gateway: &v1alpha1.GatewayProviderSpec{ParentRef: parent, RouteKind: kind, HostnameTemplate: template}}
	}
	return map[string]v1alpha1.BarProvider{
		"internal":   of(corev1.ServiceTypeClusterIP),
		"internal-2": of(corev1.ServiceTypeClusterIP),
		"public":     of(corev1.ServiceTypeLoadBalancer),
		"public-2":   of(corev1.ServiceTypeLoadBalancer),
		"web":        route(v1alpha1.HTTPRouteKind, "{name}.{namespace}.example.com"),
		"shared":     route(v1alpha1.HTTPRouteKind, "{name}.example.com"),
		"tcp":        route(v1alpha1.TCPRouteKind, ""),
		"tls":        route(v1alpha1.TLSRouteKind, "{name}.tls.example.com"),
	}
}

// namespaces stands for the registry: all namespaces are served but those that it lists as lost or unknown. It reads live.
type namespaces struct {
	lost, unknown map[string]bool
	since         time.Duration   // for how long
	unassigned    map[string]bool // those of lost that no Tenant names
	unsynced      error
	omitted       func(schema.GroupKind) error // see tenancy.Namespace
}

func (n namespaces) Lookup(name string) (*tenancy.Namespace, bool) {
	if n.lost[name] || n.unknown[name] {
		return nil, false
	}
	return &tenancy.Namespace{Name: name, Tenant: "tenant", Reader: server, Omitted: n.omitted}, true
}

// Served gives one that stands for all.
func (n namespaces) Served() []*tenancy.Namespace {
	return []*tenancy.Namespace{{Reader: reachable{server, n}}}
}

// reachable reads routes of all namespaces that are served.
type reachable struct {
	client.Reader
	namespaces namespaces
}

func (r reachable) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := r.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	if routes, ok := list.(*unstructured.UnstructuredList); ok {
		routes.Items = slices.DeleteFunc(routes.Items, func(route unstructured.Unstructured) bool {
			_, served := r.namespaces.Lookup(route.GetNamespace())
			return !served
		})
	}
	return nil
}

func (n namespaces) LostSince(name string) (time.Time, bool) {
	return time.Now().Add(-n.since), n.lost[name]
}

func (n namespaces) Assigned(name string) bool { return !n.unassigned[name] }

func (n namespaces) Synced(*http.Request) error { return n.unsynced }

func (namespaces) Suspect(string) {}

// newReconciler makes one as a leader has it that has just taken over: it knows nothing but what the API server says.
func newReconciler(through client.Client) *Reconciler {
	r := New(namespaces{}, server, Options{Client: through, Late: late, Providers: providers, SystemNamespace: system})
	r.Recorder = events.NewFakeRecorder(10000)
	return r
}
