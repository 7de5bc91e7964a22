package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/controlee/controlee/pkg/api/v1alpha1"
)

func TestCRDsAreTakenWithoutWarnings(t *testing.T) {
	t.Parallel()
	if len(server.warnings) > 0 {
		t.Errorf("the API server warned of the CRDs: %q", server.warnings)
	}
	if len(server.crds) != len(resources) {
		t.Errorf("crds/ holds %d CRDs, want %d", len(server.crds), len(resources))
	}
	for _, crd := range server.crds {
		if status := conditionStatus(crd, "NonStructuralSchema"); status == "True" {
			t.Errorf("%s: the schema is not structural", crd.GetName())
		}
		if status := conditionStatus(crd, "NamesAccepted"); status != "True" {
			t.Errorf("%s: NamesAccepted is %q", crd.GetName(), status)
		}
	}
}

// TestEverySchemaIsBoundedAndDocumented walks the schemas: a field without a description is missing from `kubectl explain`, and a list, map or
// text without a bound makes the rules' cost unbounded.
func TestEverySchemaIsBoundedAndDocumented(t *testing.T) {
	t.Parallel()
	for _, crd := range server.crds {
		walk(schemaOf(t, crd), crd.GetName(), func(path string, schema map[string]any) {
			if strings.Contains(path, ".conditions[]") {
				return // metav1.Condition: the schema is Kubernetes' own
			}
			if field := path[strings.LastIndex(path, ".")+1:]; !strings.HasSuffix(field, "]") && !strings.HasSuffix(field, "}") {
				if schema["description"] == nil && !isStandard(path) {
					t.Errorf("%s has no description", path)
				}
			}
			if isStandard(path) || schema["enum"] != nil || strings.HasPrefix(fmt.Sprint(schema["format"]), "date-time") {
				return
			}
			switch schema["type"] {
			case "array":
				if schema["maxItems"] == nil {
					t.Errorf("%s has no maxItems", path)
				}
			case "string":
				if schema["maxLength"] == nil && !strings.HasSuffix(path, "{}") {
					t.Errorf("%s has no maxLength", path)
				}
			case "object":
				if schema["additionalProperties"] != nil && schema["maxProperties"] == nil {
					t.Errorf("%s has no maxProperties", path)
				}
			}
		})
	}
}

// TestFooNamesNoNamespace: DESIGN rule 7.
func TestFooNamesNoNamespace(t *testing.T) {
	t.Parallel()
	for _, crd := range server.crds {
		if crd.GetName() != "foos.controlee.dev" {
			continue
		}
		walk(schemaOf(t, crd), "", func(path string, _ map[string]any) {
			if strings.Contains(strings.ToLower(path), "namespace") {
				t.Errorf("%s: no field of a Foo may name a namespace", path)
			}
		})
	}
}

func isStandard(path string) bool {
	return strings.Count(path, ".") == 3 && (strings.HasSuffix(path, ".metadata") || strings.HasSuffix(path, ".kind") || strings.HasSuffix(path, ".apiVersion"))
}

// walk calls visit for a schema and all below it; "[]" stands for items and "{}" for a map's values.
func walk(schema map[string]any, path string, visit func(path string, schema map[string]any)) {
	visit(path, schema)
	if properties, ok := schema["properties"].(map[string]any); ok {
		for name, property := range properties {
			if p, ok := property.(map[string]any); ok {
				walk(p, path+"."+name, visit)
			}
		}
	}
	for key, suffix := range map[string]string{"items": "[]", "additionalProperties": "{}"} {
		if below, ok := schema[key].(map[string]any); ok {
			walk(below, path+suffix, visit)
		}
	}
}

func schemaOf(t *testing.T, crd *unstructured.Unstructured) map[string]any {
	t.Helper()
	schema, err := schemaIn(crd)
	if err != nil {
		t.Fatal(err)
	}

	return schema
}

// schemaIn returns the schema of a CRD's one version.
func schemaIn(crd *unstructured.Unstructured) (map[string]any, error) {
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return nil, err
	}
	if len(versions) != 1 {
		return nil, fmt.Errorf("%s has %d versions, want 1", crd.GetName(), len(versions))
	}
	version, ok := versions[0].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: a version that is no object", crd.GetName())
	}
	schema, found, err := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%s has no schema", crd.GetName())
	}

	return schema, nil
}

// rootRules returns the CEL rules at the root of a CRD.
func rootRules(t *testing.T, name string) []string {
	t.Helper()
	var rules []string
	for _, crd := range server.crds {
		if crd.GetName() != name {
			continue
		}
		validations, _, err := unstructured.NestedSlice(schemaOf(t, crd), "x-kubernetes-validations")
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range validations {
			if validation, ok := v.(map[string]any); ok {
				rules = append(rules, fmt.Sprint(validation["rule"]))
			}
		}
	}

	return rules
}

// TestNames holds what the docs and the chart rely on.
func TestNames(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"foos.controlee.dev":       "Namespaced Foo fo controlee,all",
		"bars.controlee.dev":       "Namespaced Bar br controlee",
		"barclasses.controlee.dev": "Cluster BarClass barcl controlee",
		"tenants.controlee.dev":    "Namespaced Tenant tn controlee",
		"fences.controlee.dev":     "Namespaced Fence fen controlee",
	}
	for _, crd := range server.crds {
		scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		short, _, _ := unstructured.NestedStringSlice(crd.Object, "spec", "names", "shortNames")
		categories, _, _ := unstructured.NestedStringSlice(crd.Object, "spec", "names", "categories")
		got := strings.Join([]string{scope, kind, strings.Join(short, ","), strings.Join(categories, ",")}, " ")
		if got != want[crd.GetName()] {
			t.Errorf("%s: %q, want %q", crd.GetName(), got, want[crd.GetName()])
		}
	}
}

// TestColumns asks for the table that `kubectl get` prints; columns of priority 1 are those of `-o wide`.
func TestColumns(t *testing.T) {
	t.Parallel()
	foo := create(t, object(t, strings.ReplaceAll(validFoo, "name: valid", "name: columns")))
	merge(foo.Object, parse(t, `
status:
  replicas: 3
  readyReplicas: 2
  address: 203.0.113.7
  conditions:
  - {type: Ready, status: "False", reason: PodsNotReady, message: "", lastTransitionTime: "2030-01-01T00:00:00Z"}
`))
	if _, err := resource(foo).UpdateStatus(t.Context(), foo, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	tenant := create(t, object(t, strings.ReplaceAll(validTenant, "name: valid", "name: columns")))

	cases := map[string]struct {
		object *unstructured.Unstructured
		want   []string
	}{
		"Foo": {foo, []string{
			"Name=columns", "Ready=False", "Replicas=3", "Ready-Replicas=2", "Address=203.0.113.7",
			"Reason=PodsNotReady (wide)", "Image=registry.example/shop/web:1.4.2 (wide)", "Age",
		}},
		"Tenant": {tenant, []string{
			"Name=columns", "Engaged=<nil>", "Reason=<nil>", `Namespaces=["team-a","team-a-test"]`,
			"Released=<nil>", `Bar-Classes=["internal"] (wide)`, "Max-Bars=10 (wide)", "Weight=2 (wide)", "Age",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := columns(t, c.object); !slices.Equal(got, c.want) {
				t.Errorf("columns\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// columns returns an object's row, each cell with its heading; that of a time without its value.
func columns(t *testing.T, obj *unstructured.Unstructured) []string {
	t.Helper()
	client, err := rest.HTTPClientFor(server.config)
	if err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("%s/apis/%s/namespaces/%s/%s/%s", server.config.Host, v1alpha1.GroupVersion,
		obj.GetNamespace(), resources[obj.GetKind()], obj.GetName())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read to the end
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s (%v)", url, response.Status, err)
	}
	var table metav1.Table
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 1 {
		t.Fatalf("%d rows, want 1", len(table.Rows))
	}
	var cells []string
	for i, column := range table.ColumnDefinitions {
		cell := column.Name
		if column.Name != "Age" {
			cell = fmt.Sprintf("%s=%v", column.Name, table.Rows[0].Cells[i])
		}
		if column.Priority > 0 {
			cell += " (wide)"
		}
		cells = append(cells, cell)
	}

	return cells
}
