package chart_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

// Each value has a row in the README's table, and each row has a value, with its default.
func TestReadmeTellsEveryValue(t *testing.T) {
	values, err := chartutil.ReadValuesFile(filepath.Join(chartPath, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(chartPath, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(content), "\n## Values\n")
	if !found {
		t.Fatal("the README has no section Values")
	}
	defaults := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z.]+)` \\| (.*?) \\| .+ \\|$").FindAllStringSubmatch(table, -1) {
		defaults[row[1]] = row[2]
	}

	for path, told := range defaults {
		value, err := lookUp(values, path)
		if err != nil {
			t.Errorf("the README tells of %s, which values.yaml lacks", path)
			continue
		}
		// A default that is no code is told in words.
		code := strings.Trim(told, "`")
		if told != "`"+code+"`" || strings.Contains(code, "`") {
			continue
		}
		var parsed any
		if err := yaml.Unmarshal([]byte(code), &parsed); err != nil || !reflect.DeepEqual(normalize(t, parsed), normalize(t, value)) {
			t.Errorf("the README says that %s is %s, values.yaml that it is %v", path, told, value)
		}
	}
	for _, path := range missing(defaults, values, "") {
		t.Errorf("the README does not tell of %s", path)
	}
}

// missing returns the paths that neither have a row nor lie below one that has.
func missing(rows map[string]string, values map[string]any, prefix string) []string {
	var paths []string
	for key, value := range values {
		path := prefix + key
		if _, told := rows[path]; told {
			continue
		}
		if table, ok := value.(map[string]any); ok && len(table) > 0 {
			paths = append(paths, missing(rows, table, path+".")...)
			continue
		}
		paths = append(paths, path)
	}
	sort.Strings(paths)
	return paths
}

func lookUp(values chartutil.Values, path string) (any, error) {
	if table, err := values.Table(path); err == nil {
		return map[string]any(table), nil
	}
	return values.PathValue(path)
}

// normalize makes values comparable that were parsed in different ways.
func normalize(t *testing.T, value any) any {
	t.Helper()
	content, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var same any
	if err := yaml.Unmarshal(content, &same); err != nil {
		t.Fatal(err)
	}
	return same
}
