package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tinyChart has a CRD and an object of it: Helm has to find a kind that was not there when it began.
var tinyChart = map[string]string{
	"Chart.yaml":  "apiVersion: v2\nname: tiny\nversion: 0.1.0\nkubeVersion: '>= 1.30.0-0'\n",
	"values.yaml": "color: red\nsize:\n  width: 1\n  height: 1\n",
	"crds/widgets.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.test.controlee.dev}
spec:
  group: test.controlee.dev
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`,
	"templates/widget.yaml": `apiVersion: test.controlee.dev/v1
kind: Widget
metadata: {name: {{ .Release.Name }}}
`,
	"templates/config.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {color: {{ .Values.color }}, width: {{ .Values.size.width | quote }}, height: {{ .Values.size.height | quote }}}
`,
}

func testChart(t *testing.T, c *Cluster) {
	dir := t.TempDir()
	for name, content := range tinyChart {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "ci-values.yaml")
	if err := os.WriteFile(file, []byte("color: green\nsize:\n  width: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	configMaps := clientset(t, c.AdminConfig()).CoreV1().ConfigMaps("tiny")
	check := func(want string) {
		t.Helper()
		config, err := configMaps.Get(t.Context(), "one", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := config.Data["color"] + " " + config.Data["width"] + "x" + config.Data["height"]; got != want {
			t.Errorf("the chart's values are %s, want %s", got, want)
		}
	}

	values := map[string]any{"size": map[string]any{"height": 3}}
	release := Chart{Release: "one", Namespace: "tiny", Path: dir, ValuesFiles: []string{file}, Values: values}
	if err := c.InstallChart(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	check("green 2x3")
	if size, ok := values["size"].(map[string]any); !ok || len(size) != 1 {
		t.Errorf("the caller's values became %v", values)
	}
	if err := c.InstallChart(t.Context(), release); err == nil || !strings.Contains(err.Error(), "tiny/one") {
		t.Errorf("install it again: %v, want an error that names the release", err)
	}
	release.ValuesFiles = nil
	if err := c.UpgradeChart(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	check("red 1x3")

	jane, err := c.UserConfig("jane")
	if err != nil {
		t.Fatal(err)
	}
	other := release
	other.Release, other.Config = "two", jane
	if err := c.InstallChart(t.Context(), other); err == nil || !strings.Contains(err.Error(), `User "jane"`) {
		t.Errorf("install it as a user without rights: %v", err)
	}

	if err := c.UninstallChart(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	if _, err := configMaps.Get(t.Context(), "one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what an uninstalled chart made: %v, want not found", err)
	}
}
