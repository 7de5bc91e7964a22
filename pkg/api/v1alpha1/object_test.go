package v1alpha1_test

import (
	"path/filepath"
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/json"

	"github.com/controlee/controlee/pkg/api/v1alpha1"
)

// TestRoundTrip sends each valid object, reads the answer into its Go type, and writes it again: nothing is lost, no field is unknown to
// the Go type, and the API server takes what Go writes.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, valid := range map[string]string{
		"Foo": validFoo, "small Foo": smallFoo, "Bar": validBar, "service BarClass": validServiceClass,
		"gateway BarClass": validGatewayClass, "Tenant": validTenant, "Fence": validFence,
	} {
		t.Run(name, func(t *testing.T) {
			obj := object(t, valid)
			obj.SetName("round-trip-" + obj.GetName())
			stored := create(t, obj)

			data, err := stored.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			typed, err := scheme.New(stored.GroupVersionKind())
			if err != nil {
				t.Fatal(err)
			}
			if unknown, err := json.UnmarshalStrict(data, typed); err != nil || len(unknown) > 0 {
				t.Fatalf("the Go type does not hold what the API server stored: %v %v", unknown, err)
			}
			back := toUnstructured(t, typed)
			if !apiequality.Semantic.DeepEqual(back.Object["spec"], stored.Object["spec"]) {
				t.Errorf("spec written by Go:\n%v\nstored:\n%v", back.Object["spec"], stored.Object["spec"])
			}
			if err := update(t.Context(), back, ""); err != nil {
				t.Errorf("the API server refuses what Go writes: %v", err)
			}
			if copied := typed.DeepCopyObject(); !apiequality.Semantic.DeepEqual(copied, typed) {
				t.Error("a deep copy differs")
			}
		})
	}
}

// TestSmallestGoObjects: a Go object with only what is needed is valid too, whatever zero values it writes.
func TestSmallestGoObjects(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Name: "smallest", Namespace: testNamespace}
	source := v1alpha1.BarSourceReference{Kind: v1alpha1.SourceService, Namespace: testNamespace, Name: "web", UID: "a"}
	for kind, obj := range map[string]runtime.Object{
		"Foo":    &v1alpha1.Foo{ObjectMeta: meta, Spec: v1alpha1.FooSpec{Image: "registry.example/web"}},
		"Tenant": &v1alpha1.Tenant{ObjectMeta: meta, Spec: v1alpha1.TenantSpec{Namespaces: []string{testNamespace}}},
		"Fence":  &v1alpha1.Fence{ObjectMeta: meta},
		"Bar": &v1alpha1.Bar{ObjectMeta: meta, Spec: v1alpha1.BarSpec{
			SourceRef: source, Tenant: "team-a", ClassName: "internal", Ports: []v1alpha1.BarPort{{Port: 80}},
		}},
		"BarClass": &v1alpha1.BarClass{ObjectMeta: metav1.ObjectMeta{Name: "smallest"}, Spec: v1alpha1.BarClassSpec{
			Provider: v1alpha1.BarProvider{Type: v1alpha1.ServiceProvider, Service: &v1alpha1.ServiceProviderSpec{}},
		}},
	} {
		t.Run(kind, func(t *testing.T) {
			u := toUnstructured(t, obj)
			u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
			create(t, u)
		})
	}
}

func toUnstructured(t *testing.T, typed runtime.Object) *unstructured.Unstructured {
	t.Helper()
	data, err := utiljson.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(data, &out.Object); err != nil {
		t.Fatal(err)
	}

	return out
}

// TestDefaults: what is left out appears, so that a reader sees what counts.
func TestDefaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		object string
		want   string // a part of the object as stored
	}{
		"Foo": {
			object: smallFoo,
			want:   `spec: {image: registry.example/web, replicas: 1, progressDeadlineSeconds: 600}`,
		},
		"Foo with parts": {
			object: `
kind: Foo
metadata: {name: parts}
spec:
  image: a
  ports: [{containerPort: 80}]
  autoscaling: {maxReplicas: 3}
  resources: {requests: {cpu: 1}}
  probes: {readiness: {httpGet: {port: 80}}}
`,
			want: `
spec:
  image: a
  ports: [{containerPort: 80, protocol: TCP}]
  replicas: 1
  autoscaling: {minReplicas: 1, maxReplicas: 3, targetCPUUtilizationPercentage: 80}
  resources: {requests: {cpu: 1}}
  probes:
    readiness:
      httpGet: {port: 80, path: /, scheme: HTTP}
      timeoutSeconds: 1
      periodSeconds: 10
      successThreshold: 1
      failureThreshold: 3
  progressDeadlineSeconds: 600
`,
		},
		"Tenant": {
			object: "kind: Tenant\nmetadata: {name: small}\nspec: {namespaces: [a]}\n",
			want:   `spec: {namespaces: [a], weight: 1}`,
		},
		"Fence": {
			object: "kind: Fence\nmetadata: {name: small}\n",
			want:   `spec: {epoch: 0}`,
		},
		"Bar": {
			object: `
kind: Bar
metadata: {name: small}
spec:
  sourceRef: {kind: Service, namespace: team-a, name: web, uid: a}
  tenant: team-a
  className: internal
  ports: [{port: 80}]
`,
			want: `
spec:
  sourceRef: {apiGroup: "", kind: Service, namespace: team-a, name: web, uid: a}
  tenant: team-a
  className: internal
  ports: [{port: 80, protocol: TCP}]
`,
		},
		"service BarClass": {
			object: "kind: BarClass\nmetadata: {name: small}\nspec: {provider: {type: Service, service: {}}}\n",
			want:   `spec: {provider: {type: Service, service: {type: ClusterIP}}, releaseGracePeriodSeconds: 30}`,
		},
		"gateway BarClass": {
			object: `
kind: BarClass
metadata: {name: small-gateway}
spec: {provider: {type: Gateway, gateway: {parentRef: {namespace: a, name: b}, hostnameTemplate: "{name}.example.com"}}}
`,
			want: `spec: {provider: {type: Gateway, gateway: {routeKind: HTTPRoute, parentRef: {namespace: a, name: b}, hostnameTemplate: "{name}.example.com"}}, releaseGracePeriodSeconds: 30}`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := object(t, c.object)
			obj.SetName("default-" + obj.GetName())
			stored := create(t, obj)
			if want := parse(t, c.want)["spec"]; !apiequality.Semantic.DeepEqual(stored.Object["spec"], want) {
				t.Errorf("stored\n%v\nwant\n%v", stored.Object["spec"], want)
			}
		})
	}
}

// TestExamples applies examples/, as a user would.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("found the examples %q, want three or more (%v)", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			obj, err := readObject(file)
			if err != nil {
				t.Fatal(err)
			}
			if obj.GetNamespace() != testNamespace {
				t.Errorf("is for namespace %q, want %q, as the docs say", obj.GetNamespace(), testNamespace)
			}
			create(t, obj)
		})
	}
}
