package chart_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/controlee/controlee/test/cluster"
)

const systemNamespace = "controlee-system"

var (
	tenantGVR   = schema.GroupVersionResource{Group: "controlee.dev", Version: "v1alpha1", Resource: "tenants"}
	barClassGVR = schema.GroupVersionResource{Group: "controlee.dev", Version: "v1alpha1", Resource: "barclasses"}
	fooGVR      = schema.GroupVersionResource{Group: "controlee.dev", Version: "v1alpha1", Resource: "foos"}
	barGVR      = schema.GroupVersionResource{Group: "controlee.dev", Version: "v1alpha1", Resource: "bars"}
	crdGVR      = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// shared is the one control plane of this package, started by the first test that needs it.
var shared struct {
	once    sync.Once
	cluster *cluster.Cluster
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the control plane:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// env is the control plane and the admin's clients.
type env struct {
	*cluster.Cluster

	kube    kubernetes.Interface
	dynamic dynamic.Interface
}

// start returns the shared control plane. Tests that use it do not run in parallel: there is one release per cluster.
func start(t *testing.T) *env {
	t.Helper()
	shared.once.Do(func() {
		// The controller manager makes ReplicaSets and Pods of the operator's Deployment, and deletes namespaces.
		shared.cluster, shared.err = cluster.Start(context.Background(), cluster.Options{ControllerManager: true})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	e := &env{Cluster: shared.cluster}
	config := unlimited(e.AdminConfig())
	var err error
	if e.kube, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if e.dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return e
}

// unlimited is the same configuration without a limit of requests, and without the warnings that listing every kind there is
// brings: some are deprecated.
func unlimited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	return config
}

// install installs a release, and takes it away when the test ends. Its namespace, which is made if it is not there, stays.
func (e *env) install(t *testing.T, chart cluster.Chart) {
	t.Helper()
	if err := e.InstallChart(t.Context(), chart); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := e.UninstallChart(context.WithoutCancel(t.Context()), chart)
		if err != nil && !strings.Contains(err.Error(), "release: not found") { // the test did so itself
			t.Error(err)
		}
	})
}

func (e *env) upgrade(t *testing.T, chart cluster.Chart) {
	t.Helper()
	if err := e.UpgradeChart(t.Context(), chart); err != nil {
		t.Fatal(err)
	}
}

// makeNamespaces makes namespaces that are gone when the test ends. They enforce the restricted Pod Security standard.
func (e *env) makeNamespaces(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted",
		}}}
		if _, err := e.kube.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { e.deleteNamespaces(t, names...) })
}

// settle waits until every namespace has what the controller manager puts into it.
func (e *env) settle(t *testing.T) {
	t.Helper()
	eventually(t, "every namespace has its ServiceAccount and its CA", func() bool {
		namespaces, err := e.kube.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, namespace := range namespaces.Items {
			_, noAccount := e.kube.CoreV1().ServiceAccounts(namespace.Name).Get(t.Context(), "default", metav1.GetOptions{})
			_, noCA := e.kube.CoreV1().ConfigMaps(namespace.Name).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
			if noAccount != nil || noCA != nil {
				return false
			}
		}
		return true
	})
}

// deleteNamespaces returns when they are gone.
func (e *env) deleteNamespaces(t *testing.T, names ...string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, name := range names {
		err := e.kube.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
	for _, name := range names {
		eventually(t, "namespace "+name+" is gone", func() bool {
			_, err := e.kube.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
}

// latest reads the release that Helm keeps.
func (e *env) latest(t *testing.T, chart cluster.Chart) *release.Release {
	t.Helper()
	last, err := storage.Init(driver.NewSecrets(e.kube.CoreV1().Secrets(chart.Namespace))).Last(chart.Release)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// exists says whether an object is there.
func (e *env) exists(t *testing.T, gvr schema.GroupVersionResource, namespace, name string) bool {
	t.Helper()
	_, err := e.dynamic.Resource(gvr).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// object names an object of any kind.
type object struct{ resource, namespace, name string }

func (o object) String() string {
	if o.namespace == "" {
		return o.resource + " " + o.name
	}
	return o.resource + " " + o.namespace + "/" + o.name
}

// objects lists all objects in the cluster but Events, which only tell of the others, and Leases and the like of Kubernetes'
// own components in kube-system.
func (e *env) objects(t *testing.T) map[object]bool {
	t.Helper()
	lists, err := e.kube.Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	all := map[object]bool{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || resource.Kind == "Event" {
				continue
			}
			items, err := e.dynamic.Resource(version.WithResource(resource.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("list %s: %v", resource.Name, err)
			}
			for _, item := range items.Items {
				if item.GetNamespace() != metav1.NamespaceSystem {
					all[object{resource.Name + "." + version.Group, item.GetNamespace(), item.GetName()}] = true
				}
			}
		}
	}
	return all
}

// added returns what is in after and not in before, sorted.
func added(before, after map[object]bool) []string {
	var names []string
	for o := range after {
		if !before[o] {
			names = append(names, o.String())
		}
	}
	slices.Sort(names)
	return names
}

// eventually waits for what other processes do.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	if !waitFor(done) {
		t.Fatalf("in vain waited a minute until %s", what)
	}
}

// waitFor returns false after a minute in vain.
func waitFor(done func() bool) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			return false
		}
	}
	return true
}

// with returns values with further ones over them.
func with(values map[string]any, more ...map[string]any) map[string]any {
	all := maps.Clone(values)
	if all == nil {
		all = map[string]any{}
	}
	for _, m := range more {
		maps.Copy(all, m)
	}
	return all
}

// nested reads a field of an object, nil if it is not there.
func nested(t *testing.T, from *unstructured.Unstructured, fields ...string) any {
	t.Helper()
	value, _, err := unstructured.NestedFieldCopy(from.Object, fields...)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
