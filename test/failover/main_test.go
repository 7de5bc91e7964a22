// Package failover measures how leadership passes from one replica to the next, and proves that no write of an old leader is
// accepted after the first one of its successor: real processes, a real API server, the chart's own policies.
//
// FAILOVER_N is the number of handovers of each kind; the default keeps the tests short.
package failover

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/controlee/controlee/pkg/operator"
	"github.com/controlee/controlee/test/cluster"
)

const (
	systemNamespace = "controlee-system"
	tenantNamespace = "team-a"
	serviceAccount  = "controlee"
	operatorUser    = "system:serviceaccount:" + systemNamespace + ":" + serviceAccount
)

// What all tests share.
var (
	shared *cluster.Cluster
	admin  client.WithWatch
	audit  *auditLog
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	ctrl.SetLogger(logr.Discard()) // the tests' own clients
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var err error
	if shared, err = cluster.Start(ctx, cluster.Options{AuditLog: true, AuditResponses: true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	if admin, err = client.NewWithWatch(shared.AdminConfig(), client.Options{Scheme: operator.NewScheme()}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := shared.InstallChart(ctx, release(true)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	audit = &auditLog{servers: []*cluster.APIServer{shared.APIServer}}
	return m.Run()
}

// release is the chart with one tenant, and with the fence or without it. The Deployment has no Pods: the operators are processes.
func release(fenced bool) cluster.Chart {
	return cluster.Chart{
		Release: "controlee", Namespace: systemNamespace,
		Values: map[string]any{
			"replicaCount": 0,
			"fence":        map[string]any{"enabled": fenced},
			"tenants": []any{map[string]any{
				"name": "team-a", "namespaces": []any{tenantNamespace},
				"allowedBarClasses": []any{"internal"},
				"createNamespaces":  map[string]any{"create": true},
			}},
		},
	}
}

// count is how many handovers of each kind to make: FAILOVER_N times a kind's share, or a few.
func count(t *testing.T, share float64) int {
	t.Helper()
	text := os.Getenv("FAILOVER_N")
	if text == "" {
		return 2
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("FAILOVER_N is %q; it must be a number of handovers, for example 100", text)
	}
	return max(1, int(float64(n)*share))
}
