package v1alpha1_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/controlee/controlee/pkg/api/v1alpha1"
)

// resources maps each kind to its resource name; those in clusterScoped have no namespace.
var (
	resources = map[string]string{
		"Foo": "foos", "Bar": "bars", "BarClass": "barclasses", "Tenant": "tenants", "Fence": "fences",
	}
	clusterScoped = map[string]bool{"BarClass": true}
)

// admission is a case of a table: a change of a valid object, and what the API server says to it.
type admission struct {
	reason string
	// patch is a JSON merge patch in YAML: null removes a field, a list replaces the list.
	patch string
	// want is a part of the refusal's message; empty when the object is to be accepted.
	want string
}

// testCreate sends the valid object with each case's change, as a strict dry run.
func testCreate(t *testing.T, valid string, cases map[string]admission) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := patched(t, object(t, valid), c.patch)
			_, err := resource(obj).Create(t.Context(), obj, metav1.CreateOptions{
				DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
			})
			check(t, c, err)
		})
	}
}

// testUpdate creates the valid object and sends each case's change of it, as a strict dry run.
// Subresource is "status", or empty.
func testUpdate(t *testing.T, valid, subresource string, cases map[string]admission) {
	t.Helper()
	created := create(t, object(t, valid))
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := patched(t, created.DeepCopy(), c.patch)
			check(t, c, update(t.Context(), obj, subresource))
		})
	}
}

// update sends an object as a strict dry run.
func update(ctx context.Context, obj *unstructured.Unstructured, subresource string) error {
	var subresources []string
	if subresource != "" {
		subresources = append(subresources, subresource)
	}
	_, err := resource(obj).Update(ctx, obj, metav1.UpdateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
	}, subresources...)

	return err
}

func check(t *testing.T, c admission, err error) {
	t.Helper()
	if err != nil {
		t.Log(err) // with -v: how the messages read
		refusals.add(err.Error())
	}
	switch {
	case c.want == "" && err != nil:
		t.Errorf("refused, but it is to be accepted: %s\n%v", c.reason, err)
	case c.want != "" && err == nil:
		t.Errorf("accepted, but it is to be refused: %s", c.reason)
	case c.want != "" && !strings.Contains(err.Error(), c.want):
		t.Errorf("%s: the message lacks %q:\n%v", c.reason, c.want, err)
	}
}

// messages are all refusals that the tests saw.
type messages struct {
	mu   sync.Mutex
	text strings.Builder
}

var refusals messages

func (m *messages) add(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text.WriteString(text + "\n")
}

func (m *messages) contain(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()

	return strings.Contains(m.text.String(), text)
}

// create creates an object for the time of the test.
func create(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := resource(obj).Create(t.Context(), obj, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatalf("create %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		if err := resource(obj).Delete(ctx, obj.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete %s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	})

	return created
}

// resource returns the client for an object's kind and namespace.
func resource(obj *unstructured.Unstructured) dynamic.ResourceInterface {
	r := server.client.Resource(v1alpha1.GroupVersion.WithResource(resources[obj.GetKind()]))
	if clusterScoped[obj.GetKind()] {
		return r
	}

	return r.Namespace(testNamespace)
}

// object reads an object of this group from YAML without apiVersion and namespace.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{Object: parse(t, text)}
	obj.SetAPIVersion(v1alpha1.GroupVersion.String())
	if !clusterScoped[obj.GetKind()] {
		obj.SetNamespace(testNamespace)
	}

	return obj
}

func patched(t *testing.T, obj *unstructured.Unstructured, patch string) *unstructured.Unstructured {
	t.Helper()
	merge(obj.Object, parse(t, patch))

	return obj
}

// merge applies a JSON merge patch.
func merge(into, patch map[string]any) {
	for key, value := range patch {
		change, isMap := value.(map[string]any)
		switch present, has := into[key].(map[string]any); {
		case value == nil:
			delete(into, key)
		case isMap && has:
			merge(present, change)
		case isMap:
			fresh := map[string]any{}
			merge(fresh, change)
			into[key] = fresh
		default:
			into[key] = value
		}
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	out, err := parseYAML([]byte(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}

	return out
}

// parseYAML reads YAML with integers as int64, as unstructured objects need them.
func parseYAML(text []byte) (map[string]any, error) {
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, err
	}

	return out, nil
}

func readObject(file string) (*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	content, err := parseYAML(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}

	return &unstructured.Unstructured{Object: content}, nil
}
