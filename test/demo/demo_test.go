package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/demo/internal/tell"
)

func TestOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		environment map[string]string
		want        options
		complaint   string
	}{
		"nothing":                 {},
		"exit":                    {environment: map[string]string{"DEMO_EXIT": "1"}, want: options{exit: true}},
		"stay":                    {environment: map[string]string{"DEMO_EXIT": "0"}},
		"neither":                 {environment: map[string]string{"DEMO_EXIT": "yes"}, complaint: "DEMO_EXIT=yes: write 1"},
		"a cluster":               {environment: map[string]string{"DEMO_KUBECONFIG": file}, want: options{kubeconfig: file}},
		"a cluster and an image":  {environment: map[string]string{"DEMO_KUBECONFIG": file, "DEMO_IMAGE": "x"}, want: options{kubeconfig: file, image: "x"}},
		"no such file":            {environment: map[string]string{"DEMO_KUBECONFIG": file + "x"}, complaint: "DEMO_KUBECONFIG"},
		"an image for no cluster": {environment: map[string]string{"DEMO_IMAGE": "x"}, complaint: "name a cluster's kubeconfig"},
	} {
		got, err := readOptions(func(name string) string { return test.environment[name] })
		switch {
		case test.complaint == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.complaint != "" && (err == nil || !strings.Contains(err.Error(), test.complaint)):
			t.Errorf("%s: the error is %v, want %q", name, err, test.complaint)
		case got != test.want:
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	got := commandLine("kubectl", "get", "foo/hello", "-o", `jsonpath={.status}{"\n"}`, "--patch=it's", "", "--as=system:x")
	want := `kubectl get foo/hello -o 'jsonpath={.status}{"\n"}' '--patch=it'\''s' '' --as=system:x`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWhatAPersonTypes(t *testing.T) {
	impersonated := person{flags: []string{"--as=anna"}, namespace: "team-a"}
	for want, args := range map[string][]string{
		"--as=anna get foos -n team-a":        {"get", "foos"},
		"--as=anna get foos -n team-b":        {"get", "foos", "-n", "team-b"},
		"--as=anna get foos --all-namespaces": {"get", "foos", "--all-namespaces"},
	} {
		if got := strings.Join(impersonated.types(args...), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (person{}).types("get", "foos"); !slices.Equal(got, []string{"get", "foos"}) {
		t.Errorf("somebody with a kubeconfig types %q", got)
	}
}

func TestSplitImage(t *testing.T) {
	for image, want := range map[string][3]string{
		"registry.example/controlee":                    {"registry.example/controlee", "", ""},
		"registry.example/controlee:1.2":                {"registry.example/controlee", "1.2", ""},
		"registry.example:5000/controlee":               {"registry.example:5000/controlee", "", ""},
		"registry.example:5000/controlee:1.2@sha256:ab": {"registry.example:5000/controlee", "1.2", "sha256:ab"},
		"controlee@sha256:ab":                           {"controlee", "", "sha256:ab"},
	} {
		repository, tag, digest := splitImage(image)
		if got := [3]string{repository, tag, digest}; got != want {
			t.Errorf("%s: %q, want %q", image, got, want)
		}
	}
}

func TestValues(t *testing.T) {
	for name, test := range map[string]struct {
		options options
		want    map[string]any
	}{
		"a cluster of its own":   {options{}, map[string]any{}},
		"processes":              {options{kubeconfig: "x"}, map[string]any{"nodeSelector": map[string]any{"demo": "local"}}},
		"an image in a cluster":  {options{kubeconfig: "x", image: "r/c:1"}, map[string]any{"image": map[string]any{"repository": "r/c", "tag": "1"}}},
		"an image with a digest": {options{kubeconfig: "x", image: "r/c@sha256:ab"}, map[string]any{"image": map[string]any{"repository": "r/c", "digest": "sha256:ab"}}},
	} {
		w := newWorld(tell.NewPage(&strings.Builder{}, false), test.options)
		if got := nested(w.values()); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestTeams checks that the story, the chart's values and the example speak of the same namespaces and groups.
func TestTeams(t *testing.T) {
	var values struct {
		Tenants []struct {
			Namespaces []string
			Editors    struct{ Groups []string }
		}
	}
	content, err := os.ReadFile("values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, &values); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, tenant := range values.Tenants {
		for _, namespace := range tenant.Namespaces {
			got[namespace] = tenant.Editors.Groups
		}
	}
	if want := map[string][]string{teamANamespace: {groupOfTeamA}, teamBNamespace: {groupOfTeamB}}; !reflect.DeepEqual(got, want) {
		t.Errorf("values.yaml has %v, the story %v", got, want)
	}

	w := newWorld(tell.NewPage(&strings.Builder{}, false), options{})
	t.Chdir(".") // prepare goes to the checkout's root
	if err := w.prepare(); err != nil {
		t.Fatal(err)
	}
	dir := w.dir
	if err := w.cleanup.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s after the cleanup: %v", dir, err)
	}
}

func TestFlagsOfAPod(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: []string{
		"--log-level=info", "--metrics-bind-address=:8443", "--metrics-auth=true", "--health-probe-bind-address=:8081", "--foo-workers=8",
	}}}}}
	if got, want := flagsOf(pod), []string{"--log-level=info", "--metrics-auth=true", "--foo-workers=8"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFooReady(t *testing.T) {
	condition := func(status metav1.ConditionStatus, generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: "Progressing", Status: "True"}, {Type: v1alpha1.FooReady, Status: status, ObservedGeneration: generation}}
	}
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		want       bool
	}{
		"no status yet":            {},
		"not ready":                {condition("False", 2), false},
		"ready, of an earlier day": {condition("True", 1), false},
		"ready":                    {condition("True", 2), true},
	} {
		foo := &v1alpha1.Foo{Status: v1alpha1.FooStatus{Conditions: test.conditions}}
		foo.Generation = 2
		if got, seen := fooReady(sighting[*v1alpha1.Foo]{object: foo}); got != test.want || seen == "" {
			t.Errorf("%s: %v, %q", name, got, seen)
		}
	}
}

func TestIsWrite(t *testing.T) {
	for name, test := range map[string]struct {
		verb, group string
		want        bool
	}{
		"a read":     {"list", "apps", false},
		"a write":    {"patch", "apps", true},
		"a question": {"create", "authorization.k8s.io", false},
		"an Event":   {"create", "events.k8s.io", true},
	} {
		event := cluster.AuditEvent{Event: auditv1.Event{Verb: test.verb, ObjectRef: &auditv1.ObjectReference{APIGroup: test.group}}}
		if got := isWrite(event); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLastLines(t *testing.T) {
	if got := lastLines("one\n{healthz check failed}\ntwo\nthree\n{healthz check failed}", 2); got != "two\nthree" {
		t.Errorf("%q", got)
	}
}
