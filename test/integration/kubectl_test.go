package integration

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/controlee/controlee/test/cluster/repo"
)

// What a member of a team types, with a certificate of their own.
func TestTenantWithKubectl(t *testing.T) {
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	example := filepath.Join(root, "examples", "foo.yaml")
	teamA, teamB := user(t, "team-a", "team-a"), user(t, "team-b", "team-b")
	t.Cleanup(func() {
		if _, stderr, err := shared.Kubectl(context.Background(), teamA, "delete", "-f", example); err != nil {
			t.Error(err, stderr)
		}
	})
	steps := []struct {
		args []string
		want []string // parts of the output
	}{
		{[]string{"apply", "-f", example}, []string{"foo.controlee.dev/hello created"}},
		{[]string{"wait", "--for=condition=Ready", "foo/hello", "--timeout=60s"}, []string{"condition met"}},
		{[]string{"scale", "foo", "hello", "--replicas=3"}, []string{"foo.controlee.dev/hello scaled"}},
		{[]string{"wait", "--for=jsonpath={.status.readyReplicas}=3", "foo/hello", "--timeout=60s"}, []string{"condition met"}},
		{[]string{"wait", "--for=condition=Ready", "foo/hello", "--timeout=60s"}, []string{"condition met"}},
		{[]string{"get", "foo", "hello", "-o", "wide"}, []string{"NAME", "READY", "REASON", "IMAGE", "AGE", "hello", "True", "Available"}},
		{[]string{"explain", "foo.spec"}, []string{"FIELD: spec", "image", "-required-", "autoscaling", "Leave it out with"}},
		{[]string{"explain", "foo.spec.probes.readiness.httpGet"}, []string{"path", "port"}},
		{[]string{"describe", "foo", "hello"}, []string{"Conditions:", "Created Deployment hello"}},
		{[]string{"get", "foo,deployment,pdb"}, []string{"deployment.apps/hello", "foo.controlee.dev/hello", "poddisruptionbudget.policy/hello"}},
		{[]string{"rollout", "restart", "deployment/hello"}, []string{"restarted"}},
		{[]string{"wait", "--for=condition=Ready", "foo/hello", "--timeout=60s"}, []string{"condition met"}},
	}
	for _, step := range steps {
		stdout, stderr, err := shared.Kubectl(t.Context(), teamA, step.args...)
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(step.args, " "), err, stderr)
		}
		for _, want := range step.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("kubectl %s: no %q in\n%s", strings.Join(step.args, " "), want, stdout)
			}
		}
	}

	// The other team gets nothing, whatever the verb.
	for _, args := range [][]string{
		{"get", "foo", "hello"},
		{"get", "foos"},
		{"get", "foos", "--watch"},
		{"apply", "-f", example},
		{"patch", "foo", "hello", "--type=merge", "-p", `{"spec":{"replicas":0}}`},
		{"scale", "foo", "hello", "--replicas=0"},
		{"delete", "foo", "hello"},
		{"delete", "foos", "--all"},
		{"get", "deployments"},
		{"delete", "deployment", "hello"},
		{"get", "pods"},
		{"get", "secrets"},
		{"get", "events"},
	} {
		stdout, stderr, err := shared.Kubectl(t.Context(), teamB, append([]string{"--namespace", "team-a"}, args...)...)
		if err == nil || !strings.Contains(stderr, "Forbidden") && !strings.Contains(stderr, "forbidden") {
			t.Errorf("team-b: kubectl %s: %v\n%s%s", strings.Join(args, " "), err, stdout, stderr)
		}
	}
	if _, stderr, err := shared.Kubectl(t.Context(), teamA, "get", "foo", "hello"); err != nil {
		t.Errorf("team-a's Foo did not outlive that: %v %s", err, stderr)
	}
}

// Outside of its places the operator has nothing but what every account has, BarClasses to read and
// to report on, Namespaces to look for by name, and clients of its metrics to ask about.
func TestOperatorCanDoNothingElsewhere(t *testing.T) {
	config, err := shared.PodTokenConfig(t.Context(), systemNamespace, serviceAccount, "controlee-0")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := shared.WriteKubeconfig(path, config, "default"); err != nil {
		t.Fatal(err)
	}
	allowed := map[string]string{
		"namespaces":                                    "[get]", // whether one that was lost is gone
		"barclasses.controlee.dev":                      "[list watch]",
		"barclasses.controlee.dev/status":               "[patch]",
		"tokenreviews.authentication.k8s.io":            "[create]",
		"subjectaccessreviews.authorization.k8s.io":     "[create]",
		"selfsubjectreviews.authentication.k8s.io":      "[create]",
		"selfsubjectaccessreviews.authorization.k8s.io": "[create]",
		"selfsubjectrulesreviews.authorization.k8s.io":  "[create]",
		"clustertrustbundles.certificates.k8s.io":       "[get list watch]", // every ServiceAccount's
	}
	// Discovery, health and version are every account's, and the issuer's keys every
	// ServiceAccount's.
	paths := strings.Fields("[/api] [/api/*] [/apis] [/apis/*] [/healthz] [/livez] [/openapi] [/openapi/*] [/readyz] [/version] [/version/] " +
		"[/.well-known/openid-configuration] [/.well-known/openid-configuration/] [/openid/v1/jwks] [/openid/v1/jwks/]")
	for _, namespace := range []string{"default", "kube-system"} {
		stdout, stderr, err := shared.Kubectl(t.Context(), path, "auth", "can-i", "--list", "--namespace", namespace, "--no-headers")
		if err != nil {
			t.Fatal(err, stderr)
		}
		seen := false
		for line := range strings.Lines(stdout) {
			resource, _, _ := strings.Cut(line, " ")
			verbs := line[strings.LastIndex(line, "["):]
			if resource == "" || strings.HasPrefix(line, " ") {
				if fields := strings.Fields(line); !slices.Contains(paths, fields[0]) || fields[len(fields)-1] != "[get]" {
					t.Errorf("in %s the operator may: %s", namespace, line)
				}
				continue
			}
			seen = true
			if allowed[resource] != strings.TrimSpace(verbs) {
				t.Errorf("in %s the operator may: %s", namespace, line)
			}
		}
		if !seen {
			t.Errorf("nothing understood of\n%s", stdout)
		}
	}
}

// user gives the path of a kubeconfig of a member of a team, whose namespace has the team's name.
func user(t *testing.T, name string, groups ...string) string {
	t.Helper()
	config, err := shared.UserConfig(name+"-member", groups...)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := shared.WriteKubeconfig(path, config, name); err != nil {
		t.Fatal(err)
	}
	return path
}
