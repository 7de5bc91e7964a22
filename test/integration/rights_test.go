package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/cluster/repo"
)

// Metrics are for those alone that may read the path /metrics.
func TestMetricsNeedARight(t *testing.T) {
	leader := waitForLeader(t)
	if got := scrape(t, leader.MetricsURL, ""); got != http.StatusUnauthorized {
		t.Errorf("without a token: status %d, want 401", got)
	}
	if got := scrape(t, leader.MetricsURL, serviceAccountToken(t, "nosy")); got != http.StatusForbidden {
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
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "quiet", Name: "scraper"}},
	})
	token := serviceAccountToken(t, "scraper")
	time.Sleep(500 * time.Millisecond) // the authorizer hears of the binding by a watch, and the operator caches a no for 30 s
	if got := scrape(t, leader.MetricsURL, token); got != http.StatusOK {
		t.Fatalf("with the right: status %d, want 200", got)
	}
}

// serviceAccountToken makes a ServiceAccount and gives a token of it.
func serviceAccountToken(t *testing.T, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "quiet", Name: name}}
	create(t, account)
	token := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

func scrape(t *testing.T, url, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
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
	defer response.Body.Close() //nolint:errcheck // only the status counts
	return response.StatusCode
}

// lostNamespaces are those in which tests take the operator's rights away.
var lostNamespaces = []string{
	"hostile", "doomed", "late", "leaving", "vanishing", "claim-sweep", "offboarded", "offboarded-too", "ordinary", "optional",
	"host-owner", "host-claimant",
}

// What the operator is granted and what it uses are the same, and nothing that it asked was denied, except in the tests that
// take rights away.
func TestGrantedIsUsed(t *testing.T) {
	useEverything(t)
	used := map[string]bool{}
	for _, e := range operatorRequests(t, began) {
		object := e.Object()
		name := object.Resource
		if object.Subresource != "" {
			name += "/" + object.Subresource
		}
		if e.Forbidden() && !slices.Contains(lostNamespaces, object.Namespace) && !inOutage(e.RequestReceivedTimestamp.Time) {
			t.Errorf("denied: %s", e)
		}
		used[key(object.APIGroup, name, e.Verb)] = true
	}
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "rbac", "operator", "*.yaml"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	// The API server asks for these itself in the course of a request for something else, so the log does not show them: an apply
	// that creates takes `create` besides `patch`, and a blocking owner reference the right to update the owner's finalizers.
	asked := []string{
		key("apps", "deployments", "create"),
		key("autoscaling", "horizontalpodautoscalers", "create"),
		key("policy", "poddisruptionbudgets", "create"),
		key("", "services", "create"),
		key("gateway.networking.k8s.io", "httproutes", "create"),
		key("gateway.networking.k8s.io", "tcproutes", "create"),
		key("gateway.networking.k8s.io", "tlsroutes", "create"),
		key("controlee.dev", "foos/finalizers", "update"),
		key("coordination.k8s.io", "leases", "create"), // an update that makes it again, see test/failover
	}
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
				for _, kind := range rule.Resources {
					for _, verb := range rule.Verbs {
						granted := key(group, kind, verb)
						if !used[granted] && !slices.Contains(asked, granted) {
							t.Errorf("%s grants %s, which was not used", filepath.Base(file), granted)
						}
						if verb == "*" || kind == "*" || group == "*" || slices.Contains([]string{"escalate", "bind", "impersonate"}, verb) {
							t.Errorf("%s grants %s", filepath.Base(file), granted)
						}
					}
				}
			}
		}
	}
}

// useEverything makes the operator use each of its rights, whichever other tests have run.
func useEverything(t *testing.T) {
	t.Helper()
	foo := newFoo("quiet", "everything", replicas(2), func(f *v1alpha1.Foo) {
		f.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	})
	create(t, foo)
	waitReady(t, foo)
	for range 3 { // alike Events become a series, which is patched
		deployment := deploymentOf(t, foo)
		change(t, deployment, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](5) })
		eventually(t, wait, func(context.Context) error {
			if got := *deploymentOf(t, foo).Spec.Replicas; got != 2 {
				return fmt.Errorf("%d replicas", got)
			}
			return nil
		})
	}
	change(t, foo, func(f *v1alpha1.Foo) {
		f.Spec.Replicas, f.Spec.Autoscaling = nil, &v1alpha1.Autoscaling{MaxReplicas: 3}
	})
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{}
	eventually(t, wait, func(ctx context.Context) error { return admin.Get(ctx, client.ObjectKeyFromObject(foo), autoscaler) })
	change(t, autoscaler, func(a *autoscalingv2.HorizontalPodAutoscaler) { a.Spec.MaxReplicas = 9 })
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: foo.Namespace, Name: foo.Name}}
	change(t, budget, func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(2)) })
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Replicas, f.Spec.Autoscaling = ptr.To[int32](1), nil })
	waitGone(t, autoscaler)
	waitGone(t, budget)
	useClaimRights(t)
	useBarRights(t)
	useNamespaceRight(t)
	scrape(t, waitForLeader(t).MetricsURL, serviceAccountToken(t, "everything"))

	// Where an API server cannot stream lists, as before Kubernetes 1.32, the caches are filled with plain ones.
	t.Setenv("KUBE_FEATURE_WatchListClient", "false")
	process, err := shared.StartOperator(t.Context(), cluster.Operator{Namespace: systemNamespace, ServiceAccount: serviceAccount, PodName: "plain-lists"})
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := process.Stop(); err != nil {
		t.Fatal(err)
	}
}

func key(group, kind, verb string) string {
	return fmt.Sprintf("%s %s.%s", verb, kind, group)
}
