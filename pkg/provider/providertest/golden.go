// Package providertest helps to test providers.
package providertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
)

// Input is what a provider is asked for: a file of testdata.
type Input struct {
	Bar   v1alpha1.BarSpec     `json:"bar"`
	Class v1alpha1.BarProvider `json:"class"`
}

// NewBar makes a Bar of a spec.
func NewBar(spec v1alpha1.BarSpec) *v1alpha1.Bar {
	return &v1alpha1.Bar{ObjectMeta: metav1.ObjectMeta{Namespace: "controlee-system", Name: "web-bar"}, Spec: spec}
}

// NewClass makes a BarClass of a provider's settings.
func NewClass(settings v1alpha1.BarProvider) *v1alpha1.BarClass {
	return &v1alpha1.BarClass{ObjectMeta: metav1.ObjectMeta{Name: "public"}, Spec: v1alpha1.BarClassSpec{Provider: settings}}
}

// Golden holds what a provider makes of each file of testdata against the file beside it, as a person would review it. Set UPDATE_GOLDEN=1
// to write it anew. It also checks that the same input always gives the same objects, and that the input stays as it is.
func Golden(t *testing.T, tested provider.Provider) {
	inputs, err := filepath.Glob(filepath.Join("testdata", "*.input.yaml"))
	if err != nil || len(inputs) == 0 {
		t.Fatal("no input in testdata", err)
	}
	for _, path := range inputs {
		name := strings.TrimSuffix(path, ".input.yaml")
		t.Run(filepath.Base(name), func(t *testing.T) {
			input := Input{}
			if err := yaml.UnmarshalStrict(read(t, path), &input); err != nil {
				t.Fatal(err)
			}
			got := desire(t, tested, &input)
			golden := name + ".golden.yaml"
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(read(t, golden)), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path) //nolint:gosec // a test's own file
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// desire renders what the provider wants, several times.
func desire(t *testing.T, tested provider.Provider, input *Input) string {
	t.Helper()
	bar, class := NewBar(*input.Bar.DeepCopy()), NewClass(*input.Class.DeepCopy())
	first := render(t, tested, bar, class)
	for range 5 {
		if diff := cmp.Diff(first, render(t, tested, bar, class)); diff != "" {
			t.Fatalf("not the same again: -first +again\n%s", diff)
		}
	}
	if diff := cmp.Diff(*input, Input{Bar: bar.Spec, Class: class.Spec.Provider}); diff != "" {
		t.Errorf("the provider changed its arguments: -before +after\n%s", diff)
	}
	return first
}

func render(t *testing.T, tested provider.Provider, bar *v1alpha1.Bar, class *v1alpha1.BarClass) (text string) {
	t.Helper()
	objects, err := tested.Desired(bar, class)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		text += "---\n"
		if object.Exclusive != nil {
			text += "# takes " + object.Exclusive.Key + "\n"
		}
		text += string(document)
	}
	return text
}
