package chart_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/controlee/controlee/pkg/api/v1alpha1"
)

// The status of a Deployment can carry the class, as that of a Service can.
func testClassThroughStatus(t *testing.T, e *env, alice client) {
	e.allow(t, person("alice"), []string{"*/status"}, "patch")
	if _, err := alice.AppsV1().Deployments("team-a").Create(t.Context(), deployment("status", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := alice.CoreV1().Services("team-a").Create(t.Context(), service("status", nil, nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for what, objects := range map[string]dynamic.ResourceInterface{
		"Deployment": alice.dynamic.Resource(deploymentGVR).Namespace("team-a"),
		"Service":    alice.dynamic.Resource(serviceGVR).Namespace("team-a"),
	} {
		patch := func(fields string) (*unstructured.Unstructured, error) {
			return objects.Patch(t.Context(), "status", types.MergePatchType, []byte(fields), metav1.PatchOptions{}, "status")
		}
		_, err := patch(`{"metadata": {"annotations": {"controlee.dev/bar-class": "edge"}}}`)
		refused(t, what+": a class that she may not use", err, classUse, "alice may not use BarClass edge in namespace team-a")
		got, err := patch(`{"metadata": {"annotations": {"controlee.dev/bar-class": "internal"}}}`)
		admitted(t, what+": a class that she may use", err)
		if err == nil && got.GetAnnotations()[v1alpha1.BarClassAnnotation] != "internal" {
			t.Errorf("%s: the status does not carry annotations, so that this shows nothing", what)
		}
		_, err = patch(`{"status": {"conditions": null}}`)
		admitted(t, what+": status alone", err)
	}
}

// What others write as a class is not repeated at any length, and in one line.
func testMessagesAreAlwaysThere(t *testing.T, e *env) {
	for class, want := range map[string]string{
		"inter\nnal":               `"inter?nal" is not the name of a BarClass: write at most 63`,
		"\n":                       `"?" is not the name`,
		"a\r\x1b[31m\u202eb\u2028": `"a??[31m?b?" is not the name`,
		strings.Repeat("x", 6000):  `"` + strings.Repeat("x", 63) + `..." is not the name`,
		strings.Repeat("é", 64):    `"` + strings.Repeat("é", 63) + `..." is not the name`,
	} {
		_, err := e.kube.AppsV1().Deployments("team-a").Create(t.Context(), deployment("dry", map[string]string{v1alpha1.BarClassAnnotation: class}), dryRun)
		refused(t, "a name that is none", err, classUse, want, "such as internal")
	}
	config := e.AdminConfig()
	config.Impersonate.UserName = strings.Repeat("u", 6000)
	config.Impersonate.Groups = []string{"team-a-leads"}
	_, err := newClient(t, config).AppsV1().Deployments("team-a").Create(t.Context(), deployment("dry", map[string]string{v1alpha1.BarClassAnnotation: "edge"}), dryRun)
	refused(t, "somebody with a long name", err, classUse, "you may not use this BarClass in this namespace: choose one that the team is allowed")
}
