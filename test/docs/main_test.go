// Package docs runs the commands that the guides print, as they are printed, against a real API
// server with the operator running.
package docs

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/controlee/controlee/pkg/operator"
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/cluster/repo"
	"github.com/controlee/controlee/test/commands"
)

const systemNamespace = "controlee-system"

// What all tests share: an admin with a folder that holds values.yaml.
var (
	shared *cluster.Cluster
	admin  client.Client
	root   string
	folder string
	values = map[string]any{}
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	ctrl.SetLogger(logr.Discard()) // the tests' own client
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	var process *cluster.OperatorProcess
	var err error
	shared, err = cluster.Start(ctx, cluster.Options{ControllerManager: true, Nodes: 2})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if code != 0 && process != nil {
			fmt.Fprintf(os.Stderr, "--- the last of the operator's log:\n%s\n", process.LogTail(100))
		}
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	if process, err = prepare(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	return m.Run()
}

// prepare installs the chart with the tenants of all pages, and starts the operator.
func prepare(ctx context.Context) (*cluster.OperatorProcess, error) {
	var err error
	if root, err = repo.Root(); err != nil {
		return nil, err
	}
	if admin, err = client.New(shared.AdminConfig(), client.Options{Scheme: operator.NewScheme()}); err != nil {
		return nil, err
	}
	if err := shared.InstallGatewayAPI(ctx, "httproutes", "tcproutes", "tlsroutes"); err != nil {
		return nil, err
	}
	if folder, err = os.MkdirTemp("", "controlee-docs-"); err != nil {
		return nil, err
	}
	values["replicaCount"] = 0 // the operator is a process
	values["barClasses"] = map[string]any{
		"edge": map[string]any{
			"provider":                  map[string]any{"type": "Service", "service": map[string]any{"type": "NodePort"}},
			"releaseGracePeriodSeconds": 20, // longer than an upgrade takes
		},
		"web": map[string]any{"provider": map[string]any{"type": "Gateway", "gateway": map[string]any{
			"parentRef": map[string]any{"namespace": "gateways", "name": "shared"}, "routeKind": "HTTPRoute",
			"hostnameTemplate": "{name}.{namespace}.apps.example.com",
		}}},
	}
	entries := map[string]any{}
	for _, name := range []string{"team-a", "team-c", "team-r", "team-x", "team-y", "team-z"} {
		entries[name] = map[string]any{
			"name": name, "namespaces": []any{name}, "allowedBarClasses": []any{"internal", "edge", "web"},
			"createNamespaces": map[string]any{
				"create": true, "defaultDenyNetworkPolicy": true, "resourceQuota": map[string]any{"pods": "50"},
				"limitRange": map[string]any{"default": map[string]any{"memory": "64Mi"}},
			},
		}
	}
	values["tenants"] = entries
	if err := writeValues(); err != nil {
		return nil, err
	}
	install := "helm install controlee CHART --namespace controlee-system --create-namespace --values values.yaml"
	if _, _, err := shared.Shell(ctx, "", folder, withChart(install)); err != nil {
		return nil, err
	}
	process, err := shared.StartOperator(ctx, cluster.Operator{Namespace: systemNamespace, ServiceAccount: "controlee", PodName: "controlee-0"})
	if err != nil {
		return nil, err
	}
	err = process.Ready(ctx)
	return process, err
}

// writeValues writes values.yaml. There the tenants are a list; here they are a map, so that a test
// finds an entry by its key.
func writeValues() error {
	file := maps.Clone(values)
	var list []any
	for _, entry := range values["tenants"].(map[string]any) { //nolint:forcetypeassert // made above
		list = append(list, entry)
	}
	file["tenants"] = list
	content, err := yaml.Marshal(file)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "values.yaml"), content, 0o600)
}

// edit changes entries of the tenants in values.yaml, as an admin does before the next command.
func edit(t *testing.T, change func(tenants map[string]any)) {
	t.Helper()
	change(values["tenants"].(map[string]any)) //nolint:forcetypeassert // made above
	if err := writeValues(); err != nil {
		t.Fatal(err)
	}
}

func entry(tenants map[string]any, name string) map[string]any {
	return tenants[name].(map[string]any) //nolint:forcetypeassert // made above
}

func withChart(line string) string {
	return strings.ReplaceAll(line, "CHART", filepath.Join(root, "charts", "controlee"))
}

// section is the commands of a section of the admin guide that were not run yet.
type section struct{ lines []string }

func open(t *testing.T, heading string) *section {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "docs", "admin-guide.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := commands.InSection(string(content), heading)
	if err != nil {
		t.Fatal(err)
	}
	return &section{lines}
}

// run runs the next command, which has to begin as the test expects, and gives what it prints.
func (s *section) run(t *testing.T, begins string) (stdout string) {
	t.Helper()
	if len(s.lines) == 0 || !strings.HasPrefix(s.lines[0], begins) {
		t.Fatalf("the next commands are %q, want %q first", s.lines, begins)
	}
	line := withChart(s.lines[0])
	s.lines = s.lines[1:]
	stdout, stderr, err := shared.Shell(t.Context(), "", folder, line)
	if err != nil {
		t.Fatal(err)
	}
	if stderr != "" {
		t.Errorf("%s prints %s", line, stderr)
	}
	return stdout
}

// end fails if a command was not run.
func (s *section) end(t *testing.T) {
	t.Helper()
	if len(s.lines) > 0 {
		t.Errorf("the test runs all commands but %q", s.lines)
	}
}
