package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/cluster/repo"
)

// completeFoo reads the Foo that sets every field.
func completeFoo(t *testing.T, namespace string) *v1alpha1.Foo {
	t.Helper()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "pkg", "foo", "testdata", "complete.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	foo := &v1alpha1.Foo{}
	if err := yaml.UnmarshalStrict(data, foo); err != nil {
		t.Fatal(err)
	}
	foo.Namespace, foo.Name = namespace, "complete"
	return foo
}

// operatorRequests gives what the operator asked of the API server since a time.
func operatorRequests(t *testing.T, since time.Time) []cluster.AuditEvent {
	t.Helper()
	events, err := shared.AuditEvents(since)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(events, func(e cluster.AuditEvent) bool { return e.User.Username != operatorUser })
}

// isWrite says whether a request changes something other than the Lease of leader election.
func isWrite(e cluster.AuditEvent) bool {
	switch e.Verb {
	case "get", "list", "watch":
		return false
	}
	return e.Object().Resource != "leases"
}

// assertNoWrites checks that the operator leaves a Foo and its children alone for a while.
func assertNoWrites(t *testing.T, foo *v1alpha1.Foo, span time.Duration) {
	t.Helper()
	time.Sleep(500 * time.Millisecond) // what is under way comes to an end
	since := time.Now()
	time.Sleep(span)
	for _, e := range operatorRequests(t, since) {
		object := e.Object()
		if isWrite(e) && object.Namespace == foo.Namespace && (object.Name == foo.Name || strings.HasPrefix(object.Name, foo.Name+".")) {
			t.Errorf("wrote although nothing changed: %s", e)
		}
	}
}
