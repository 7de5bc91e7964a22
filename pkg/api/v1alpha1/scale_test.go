package v1alpha1_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestScale uses the scale subresource as `kubectl scale` and a HorizontalPodAutoscaler do.
func TestScale(t *testing.T) {
	t.Parallel()
	foo := create(t, object(t, strings.ReplaceAll(validFoo, "name: valid", "name: scaled")))
	merge(foo.Object, parse(t, `status: {replicas: 3, selector: controlee.dev/foo=scaled}`))
	if _, err := resource(foo).UpdateStatus(t.Context(), foo, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	scale, err := resource(foo).Get(t.Context(), foo.GetName(), metav1.GetOptions{}, "scale")
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `{spec: {replicas: 3}, status: {replicas: 3, selector: controlee.dev/foo=scaled}}`)
	for _, part := range []string{"spec", "status"} {
		if got, wanted := toJSON(t, scale.Object[part]), toJSON(t, want[part]); got != wanted {
			t.Errorf("scale.%s is %s, want %s", part, got, wanted)
		}
	}
	if err := scaleTo(t, foo, "5"); err != nil {
		t.Fatal(err)
	}
	foo, err = resource(foo).Get(t.Context(), foo.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if replicas, _, err := unstructured.NestedInt64(foo.Object, "spec", "replicas"); err != nil || replicas != 5 {
		t.Errorf("spec.replicas is %d after scaling to 5 (%v)", replicas, err)
	}
	check(t, admission{reason: "most likely a slip", want: "less than or equal to 10000"}, scaleTo(t, foo, "10001"))
	check(t, admission{reason: "there are no fewer than none", want: "should be a non-negative integer"}, scaleTo(t, foo, "-1"))
}

// TestScaleOfAutoscaled: two would set the number.
func TestScaleOfAutoscaled(t *testing.T) {
	t.Parallel()
	foo := create(t, object(t, `
kind: Foo
metadata: {name: autoscaled}
spec:
  image: registry.example/web
  autoscaling: {maxReplicas: 3}
  resources: {requests: {cpu: 100m}}
`))
	check(t, admission{reason: "the autoscaler sets the number", want: "replicas and autoscaling exclude each other"}, scaleTo(t, foo, "2"))
	check(t, admission{reason: "0 would stop it", want: "replicas and autoscaling exclude each other"}, scaleTo(t, foo, "0"))
	check(t, admission{reason: "1 counts as left out"}, scaleTo(t, foo, "1"))
}

// TestToAutoscaling: a Foo that was scaled by hand says how to go on.
func TestToAutoscaling(t *testing.T) {
	t.Parallel()
	testUpdate(t, `
kind: Foo
metadata: {name: to-autoscaling}
spec: {image: registry.example/web, replicas: 3, resources: {requests: {cpu: 100m}}}
`, "", map[string]admission{
		"replicas kept": {
			reason: "two would set the number",
			patch:  `spec: {autoscaling: {maxReplicas: 3}}`,
			want:   "If kubectl scale has set replicas, set it back to 1",
		},
		"replicas left out": {reason: "1 again, by default", patch: `spec: {replicas: null, autoscaling: {maxReplicas: 3}}`},
		"replicas 1":        {reason: "as if left out", patch: `spec: {replicas: 1, autoscaling: {maxReplicas: 3}}`},
	})
}

func scaleTo(t *testing.T, foo *unstructured.Unstructured, replicas string) error {
	t.Helper()
	_, err := resource(foo).Patch(t.Context(), foo.GetName(), types.MergePatchType,
		[]byte(`{"spec":{"replicas":`+replicas+`}}`), metav1.PatchOptions{}, "scale")

	return err
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	content, ok := value.(map[string]any)
	if !ok {
		t.Fatalf("%v is no object", value)
	}
	data, err := (&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Part", "content": content}}).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}

	return string(data)
}
