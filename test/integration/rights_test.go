package integration

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/controlee/controlee/test/cluster/repo"
)

// Metrics are for those alone that may read the path /metrics.
func TestMetricsNeedARight(t *testing.T) {
	reader := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "quiet", Name: "metrics"}}
	create(t, reader)
	token := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(t.Context(), reader, token); err != nil {
		t.Fatal(err)
	}
	leader := waitForLeader(t)
	if got := scrape(t, leader.MetricsURL, ""); got != http.StatusUnauthorized {
		t.Errorf("without a token: status %d, want 401", got)
	}
	if got := scrape(t, leader.MetricsURL, token.Status.Token); got != http.StatusForbidden {
		t.Errorf("without the right: status %d, want 403", got)
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "test-metrics-reader"},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	create(t, role)
	create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: reader.Namespace, Name: reader.Name}},
	})
	for deadline := time.Now().Add(wait); ; time.Sleep(time.Second) {
		got := scrape(t, leader.MetricsURL, token.Status.Token)
		if got == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("with the right: status %d, want 200", got)
		}
	}
}

func scrape(t *testing.T, url, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// The operator's certificate is made at its start; who scrapes it inside a cluster skips the check as well.
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // see above
	defer insecure.CloseIdleConnections()
	response, err := insecure.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}

// zzz: runs last, over all that the operator did in this package.
//
// What the operator is granted and what it uses are the same, and nothing that it asked was denied, except in the test that takes
// a right away.
func TestZZZGrantedIsUsed(t *testing.T) {
	used := map[string]bool{}
	for _, e := range operatorRequests(t, began) {
		object := e.Object()
		resource := object.Resource
		if object.Subresource != "" {
			resource += "/" + object.Subresource
		}
		if e.Forbidden() && object.Namespace != "hostile" && object.Namespace != "doomed" && object.Namespace != "late" {
			t.Errorf("denied: %s", e)
		}
		used[key(object.APIGroup, resource, e.Verb)] = true
	}
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "rbac", "operator", "*.yaml"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	// Asked by the admission plugin OwnerReferencesPermissionEnforcement on the operator's behalf, so no request shows it;
	// the test of foreground deletion fails without it.
	asked := []string{key("controlee.dev", "foos/finalizers", "update")}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		role := &rbacv1.ClusterRole{}
		if err := yaml.UnmarshalStrict(data, role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						granted := key(group, resource, verb)
						if !used[granted] && !slices.Contains(asked, granted) {
							t.Errorf("%s grants %s, which was not used", filepath.Base(file), granted)
						}
						if verb == "*" || resource == "*" || group == "*" || strings.Contains("escalate bind impersonate", verb) {
							t.Errorf("%s grants %s", filepath.Base(file), granted)
						}
					}
				}
			}
		}
	}
}

func key(group, resource, verb string) string {
	return fmt.Sprintf("%s %s.%s", verb, resource, group)
}
