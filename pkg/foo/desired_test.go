package foo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

var settings = Settings{NodeLossToleration: 30 * time.Second}

// object makes a Foo with the API server's defaults, changed by the given functions.
func object(changes ...func(*v1alpha1.Foo)) *v1alpha1.Foo {
	foo := &v1alpha1.Foo{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "team-a", UID: "uid-web", Generation: 3},
		Spec:       v1alpha1.FooSpec{Image: "example/web:1", Replicas: ptr.To[int32](1), ProgressDeadlineSeconds: ptr.To[int32](600)},
	}
	for _, change := range changes {
		change(foo)
	}
	return foo
}

// The whole of what a small and a large Foo become, as a person would review it. Set UPDATE_GOLDEN=1 to write it anew.
func TestDesireGolden(t *testing.T) {
	for _, name := range []string{"minimal", "complete", "autoscaled"} {
		t.Run(name, func(t *testing.T) {
			input, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			foo := &v1alpha1.Foo{}
			if err := yaml.UnmarshalStrict(input, foo); err != nil {
				t.Fatal(err)
			}
			want, err := desire(foo, settings)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, child := range []any{want.deployment, want.autoscaler, want.budget} {
				data, err := json.Marshal(child)
				if err != nil {
					t.Fatal(err)
				}
				if string(data) == "null" {
					continue
				}
				document, err := yaml.JSONToYAML(data)
				if err != nil {
					t.Fatal(err)
				}
				got += "---\n" + string(document)
			}
			golden := filepath.Join("testdata", name+".golden.yaml")
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			expected, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(expected), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestDesireChildren(t *testing.T) {
	scaling := func(least, most int32) func(*v1alpha1.Foo) {
		return func(f *v1alpha1.Foo) {
			f.Spec.Autoscaling = &v1alpha1.Autoscaling{MinReplicas: ptr.To(least), MaxReplicas: most}
		}
	}
	count := func(n int32) func(*v1alpha1.Foo) {
		return func(f *v1alpha1.Foo) { f.Spec.Replicas = ptr.To(n) }
	}
	type want struct {
		replicas           *int32
		autoscaler, budget bool
	}
	cases := map[string]struct {
		reason string
		foo    *v1alpha1.Foo
		want   want
	}{
		"One":        {"A budget over one Pod would block the drain of its node.", object(count(1)), want{replicas: ptr.To[int32](1)}},
		"Two":        {"Two Pods can lose one.", object(count(2)), want{replicas: ptr.To[int32](2), budget: true}},
		"Zero":       {"Zero is a number like any other, and must be written.", object(count(0)), want{replicas: ptr.To[int32](0)}},
		"Absent":     {"A Foo that was stored without a number has the API server's default.", object(func(f *v1alpha1.Foo) { f.Spec.Replicas = nil }), want{replicas: ptr.To[int32](1)}},
		"Autoscaled": {"The autoscaler owns the number, so the operator must not write it.", object(scaling(1, 3)), want{autoscaler: true, budget: true}},
		"AutoscaledToOne": {
			"An autoscaler that never makes two Pods needs no budget.",
			object(scaling(1, 1)),
			want{autoscaler: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, err := desire(tc.foo, settings)
			if err != nil {
				t.Fatal(err)
			}
			got := want{replicas: d.deployment.Spec.Replicas, autoscaler: d.autoscaler != nil, budget: d.budget != nil}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDesireOptsIn(t *testing.T) {
	cases := map[string]struct {
		reason string
		bar    *v1alpha1.FooBar
		want   map[string]string
	}{
		"None":   {"Without bar the Deployment does not opt in.", nil, nil},
		"Class":  {"The class alone is enough.", &v1alpha1.FooBar{ClassName: "internal"}, map[string]string{v1alpha1.BarClassAnnotation: "internal"}},
		"Number": {"A port by number.", &v1alpha1.FooBar{ClassName: "internal", Port: ptr.To(intstr.FromInt32(8080))}, map[string]string{v1alpha1.BarClassAnnotation: "internal", v1alpha1.BarPortAnnotation: "8080"}},
		"Name":   {"A port by name.", &v1alpha1.FooBar{ClassName: "internal", Port: ptr.To(intstr.FromString("http"))}, map[string]string{v1alpha1.BarClassAnnotation: "internal", v1alpha1.BarPortAnnotation: "http"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, err := desire(object(func(f *v1alpha1.Foo) { f.Spec.Bar = tc.bar }), settings)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, d.deployment.Annotations); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// The same Foo must always give the same objects, or a converged one would be written again and again.
func TestDesireIsDeterministic(t *testing.T) {
	input, err := os.ReadFile(filepath.Join("testdata", "complete.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	foo := &v1alpha1.Foo{}
	if err := yaml.UnmarshalStrict(input, foo); err != nil {
		t.Fatal(err)
	}
	before := foo.DeepCopy()
	first, err := desire(foo, settings)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := desire(foo, settings)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.deployment, again.deployment); diff != "" {
			t.Fatalf("-first +again\n%s", diff)
		}
	}
	if diff := cmp.Diff(before, foo); diff != "" {
		t.Errorf("desire changed its argument: -before +after\n%s", diff)
	}
}
