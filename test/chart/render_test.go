package chart_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/operator"
)

const chartPath = "../../charts/controlee"

// valuesFiles are the ci values, which together set nearly every value there is.
func valuesFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartPath, "ci", "*-values.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("found %d ci values files (%v), want 4 or more", len(files), err)
	}
	return files
}

// render does what "helm template --namespace controlee-system" does.
func render(t *testing.T, values map[string]any) []byte {
	t.Helper()
	loaded, err := loader.Load(chartPath)
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(&action.Configuration{Log: t.Logf})
	install.ReleaseName, install.Namespace = "controlee", "controlee-system"
	install.DryRun, install.ClientOnly = true, true
	install.KubeVersion = &chartutil.KubeVersion{Version: "v1.37.2", Major: "1", Minor: "37"}
	release, err := install.Run(loaded, values)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(release.Manifest)
}

// documents splits a stream of YAML.
func documents(t *testing.T, stream []byte) [][]byte {
	t.Helper()
	var all [][]byte
	reader := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(document)) > 0 {
			all = append(all, document)
		}
	}
}

// The API server drops a field that it does not know, and says so at most in a warning that Helm does not show: a
// misspelt field of a template would be there and do nothing.
func TestRenderedObjectsHaveOnlyKnownFields(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	// Not ours, and not Kubernetes'.
	foreign := []string{"ServiceMonitor"}

	for _, file := range valuesFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			values, err := chartutil.ReadValuesFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all := documents(t, render(t, values))
			if len(all) < 10 {
				t.Errorf("rendered %d objects, want 10 or more", len(all))
			}
			for _, document := range all {
				var kind struct{ Kind string }
				if err := yaml.Unmarshal(document, &kind); err != nil {
					t.Fatal(err)
				}
				if slices.Contains(foreign, kind.Kind) {
					continue
				}
				if _, _, err := strict.Decode(document, nil, nil); err != nil {
					t.Errorf("%v\n%s", err, document)
				}
			}
		})
	}
}

// The operator knows every flag that the chart passes, and takes its value; without values both have the same defaults.
func TestOperatorTakesTheArgumentsOfTheChart(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "controlee-system")
	t.Setenv("POD_NAME", "controlee-0")
	t.Setenv("POD_UID", "1234")
	for _, file := range valuesFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			values, err := chartutil.ReadValuesFile(file)
			if err != nil {
				t.Fatal(err)
			}
			options := operator.NewOptions()
			flags := pflag.NewFlagSet("controlee", pflag.ContinueOnError)
			options.AddFlags(flags)
			if err := flags.Parse(operatorArguments(t, render(t, values))); err != nil {
				t.Fatal(err)
			}
			if err := options.Validate(); err != nil {
				t.Error(err)
			}
			if want := operator.NewOptions(); len(values) == 0 && !reflect.DeepEqual(options, want) {
				t.Errorf("the chart's defaults are %+v, the operator's %+v", options, want)
			}
		})
	}
}

func operatorArguments(t *testing.T, manifest []byte) []string {
	t.Helper()
	for _, document := range documents(t, manifest) {
		var deployment appsv1.Deployment
		if err := yaml.Unmarshal(document, &deployment); err == nil && deployment.Kind == "Deployment" {
			return deployment.Spec.Template.Spec.Containers[0].Args
		}
	}
	t.Fatal("no Deployment was rendered")
	return nil
}

// Chart.yaml may hold only what Helm knows. (`ct lint` would check it with Yamale, which is not to be had everywhere.)
func TestChartYAMLHasOnlyKnownFields(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(chartPath, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var metadata chart.Metadata
	if err := yaml.UnmarshalStrict(content, &metadata); err != nil {
		t.Fatal(err)
	}
	if err := metadata.Validate(); err != nil {
		t.Error(err)
	}
}

// readRole reads a ClusterRole of rbac/.
func readRole(t *testing.T, path string) rbacv1.ClusterRole {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "rbac", path))
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(content, &role); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(role.Rules) == 0 {
		t.Fatalf("%s has no rules", path)
	}
	return role
}

// The files are roles on their own, to be applied without Helm as well: their names are those that the chart gives.
func TestRoleFilesNameTheRolesOfTheChart(t *testing.T) {
	want := map[string]string{
		"tenant/view.yaml":               "controlee-tenant-view",
		"tenant/edit.yaml":               "controlee-tenant-edit",
		"tenant/admin.yaml":              "controlee-tenant-admin",
		"tenant/use-bar-class.yaml":      "controlee-bar-classes",
		"platform/viewer.yaml":           "controlee-platform-viewer",
		"platform/bar-class-viewer.yaml": "controlee-bar-class-viewer",
		"platform/metrics-reader.yaml":   "controlee-metrics-reader",
		"operator/cluster.yaml":          "controlee-operator",
		"operator/tenant.yaml":           "controlee-operator-tenant",
		"operator/system.yaml":           "controlee-operator-system",
		"operator/metrics-auth.yaml":     "controlee-operator-metrics-auth",
	}
	files, err := filepath.Glob("../../rbac/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		path, err := filepath.Rel("../../rbac", file)
		if err != nil {
			t.Fatal(err)
		}
		name, known := want[path]
		if !known {
			t.Errorf("rbac/%s is of no use to the chart", path)
			continue
		}
		delete(want, path)
		if role := readRole(t, path); role.Name != name || role.Kind != "ClusterRole" {
			t.Errorf("rbac/%s is %s %q, want ClusterRole %q", path, role.Kind, role.Name, name)
		}
	}
	for path := range want {
		t.Errorf("rbac/%s is missing", path)
	}
}

// The chart's copies are those that `make generate` would make.
func TestChartCarriesCurrentCopies(t *testing.T) {
	for source, copied := range map[string]string{
		"../../rbac/tenant":   "files/rbac/tenant",
		"../../rbac/platform": "files/rbac/platform",
		"../../rbac/operator": "files/rbac/operator",
		"../../crds":          "crds",
	} {
		want, got := readFolder(t, source), readFolder(t, filepath.Join(chartPath, copied))
		if !reflect.DeepEqual(want, got) {
			t.Errorf("charts/controlee/%s differs from %s: run make generate", copied, strings.TrimPrefix(source, "../../"))
		}
	}
}

func readFolder(t *testing.T, path string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(path, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(content)
	}
	if len(files) == 0 {
		t.Fatalf("%s is empty", path)
	}
	return files
}

// The schema lists the fields of a BarClass, so that a misspelt one is refused before anything is installed.
// It must not fall behind the CRD.
func TestSchemaKnowsTheFieldsOfABarClass(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(chartPath, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(content, &schema); err != nil {
		t.Fatal(err)
	}
	ours := dig(t, schema, "$defs", "barClass")

	content, err = os.ReadFile("../../crds/controlee.dev_barclasses.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(content, &crd); err != nil {
		t.Fatal(err)
	}
	version, ok := dig(t, crd, "spec")["versions"].([]any)[0].(map[string]any)
	if !ok {
		t.Fatal("the CRD has no version")
	}
	theirs := dig(t, version, "schema", "openAPIV3Schema", "properties", "spec")
	compareProperties(t, "barClasses.NAME", ours, theirs)
}

func compareProperties(t *testing.T, path string, ours, theirs map[string]any) {
	t.Helper()
	want, isObject := theirs["properties"].(map[string]any)
	if !isObject {
		return
	}
	got, _ := ours["properties"].(map[string]any)
	for name, property := range want {
		if _, ok := got[name].(map[string]any); !ok {
			t.Errorf("values.schema.json lacks %s.%s", path, name)
			continue
		}
		compareProperties(t, path+"."+name, dig(t, got, name), property.(map[string]any)) //nolint:forcetypeassert // a schema
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("values.schema.json has %s.%s, which a BarClass has not", path, name)
		}
	}
}

func dig(t *testing.T, from map[string]any, keys ...string) map[string]any {
	t.Helper()
	for _, key := range keys {
		next, ok := from[key].(map[string]any)
		if !ok {
			t.Fatalf("no %s in %v", key, keys)
		}
		from = next
	}
	return from
}
