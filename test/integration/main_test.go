// Package integration tests the operator as it is installed: the rendered chart on a real API server, the operator as a
// process with a token of the chart's ServiceAccount, tenants as users with certificates of their own.
package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/controlee/controlee/pkg/operator"
	"github.com/controlee/controlee/test/cluster"
)

const (
	systemNamespace = "controlee-system"
	serviceAccount  = "controlee"
	operatorUser    = "system:serviceaccount:" + systemNamespace + ":" + serviceAccount
)

// What all tests share. Each test has tenant namespaces of its own.
var (
	shared *cluster.Cluster
	admin  client.WithWatch
	began  time.Time // the operator's first request is later
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	ctrl.SetLogger(logr.Discard()) // the tests' own clients
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	var err error
	shared, err = cluster.Start(ctx, cluster.Options{ControllerManager: true, Nodes: 2, AuditLog: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if code != 0 {
			for pod, process := range operators {
				fmt.Fprintf(os.Stderr, "--- the last of the log of %s:\n%s\n", pod, process.LogTail(400))
			}
		}
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	if admin, err = newClient(shared.AdminConfig()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	began = time.Now()
	if err := shared.InstallChart(ctx, release(tenants()...)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := shared.InstallGatewayAPI(ctx, "httproutes", "tcproutes"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := startOperators(ctx, "controlee-0", "controlee-1"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return max(m.Run(), panics())
}

// panics gives 1 if an operator's log speaks of a panic: controllers recover, so that otherwise nobody might notice.
func panics() (code int) {
	for pod, process := range operators {
		log, err := os.ReadFile(process.LogPath)
		if err != nil || bytes.Contains(log, []byte("Observed a panic")) {
			fmt.Fprintf(os.Stderr, "--- a panic in the log of %s, or no log: %v\n", pod, err)
			code = 1
		}
	}
	return code
}

func newClient(config *rest.Config) (client.WithWatch, error) {
	return client.NewWithWatch(config, client.Options{Scheme: operator.NewScheme()})
}

// release says how the chart is installed with the given tenants. The Deployment that it makes has no Pods: the operators
// are processes.
func release(tenants ...map[string]any) cluster.Chart {
	list := make([]any, len(tenants))
	for i := range tenants {
		list[i] = tenants[i]
	}
	return cluster.Chart{
		Release: "controlee", Namespace: systemNamespace,
		Values: map[string]any{
			"replicaCount": 0, "tenants": list,
			"externalBarClasses": append(barClassNames(), nodePortClass, passingClass, graceClass, shortClass),
			"barClasses":         map[string]any{internalClass: map[string]any{"releaseGracePeriodSeconds": 0}},
			"lock":               map[string]any{"breakGlassGroups": []any{breakGlassGroup}},
		},
	}
}

// tenants are the tenants that all tests share: team-a and team-b for what one must not do to the other, and suite for the
// namespaces of the tests.
func tenants() []map[string]any {
	return append([]map[string]any{
		newTenant("team-a", "team-a"),
		newTenant("team-b", "team-b"),
		newTenant("suite", "lifecycle", "drift", "conflict", "refused", "secured", "rollout", "scaling", "deletion", "failover", "quiet", "hostile"),
	}, slices.Concat(claimTenants(), barTenants())...)
}

// newTenant gives a tenant's values: its namespaces are made by the chart, and its group of the same name edits.
func newTenant(name string, namespaces ...string) map[string]any {
	list := make([]any, len(namespaces))
	for i := range namespaces {
		list[i] = namespaces[i]
	}
	return map[string]any{
		"name": name, "namespaces": list,
		"editors":           map[string]any{"groups": []any{name}},
		"allowedBarClasses": []any{"internal"},
		"createNamespaces":  map[string]any{"create": true, "podSecurity": "restricted"},
	}
}
