// Package lifecycle tests what must hold at every moment while tenants come, go, are renamed, lose
// and regain rights, while leaders are killed and while the chart is removed and installed again:
// no host name has two routes, no address changes without a request, and nothing that the operator
// made is left without a Bar.
package lifecycle

import (
	"context"
	"fmt"
	"os"
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
	serviceAccount  = "controlee"
	breakGlassGroup = "break-glass"
	sweepInterval   = 2 * time.Second
)

// What the test works with. firefighter may write what is locked.
var (
	shared      *cluster.Cluster
	admin       client.WithWatch
	firefighter client.Client
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	ctrl.SetLogger(logr.Discard()) // the test's own clients
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var err error
	if shared, err = cluster.Start(ctx, cluster.Options{ControllerManager: true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	if err := prepare(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func prepare(ctx context.Context) error {
	if err := shared.InstallGatewayAPI(ctx, "httproutes"); err != nil {
		return err
	}
	config, err := shared.UserConfig("firefighter", "system:masters", breakGlassGroup)
	if err != nil {
		return err
	}
	options := client.Options{Scheme: operator.NewScheme()}
	if admin, err = client.NewWithWatch(shared.AdminConfig(), options); err != nil {
		return err
	}
	firefighter, err = client.New(config, options)
	return err
}

// replicas are the running operators.
type replicas []*cluster.OperatorProcess

// startReplicas starts two operators, with Pods of their own: those of an installation before have
// lost their ServiceAccount.
func startReplicas(t *testing.T, generation int) replicas {
	t.Helper()
	var all replicas
	for i := range 2 {
		process, err := shared.StartOperator(t.Context(), cluster.Operator{
			Namespace: systemNamespace, ServiceAccount: serviceAccount, PodName: fmt.Sprintf("controlee-%d-%d", generation, i),
			Args: []string{
				"--orphan-sweep-interval=" + sweepInterval.String(),
				"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=1500ms", "--leader-elect-retry-period=400ms",
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, process)
	}
	return all
}

// stop ends all operators. One that has ended by itself is ended.
func (r replicas) stop() {
	for _, process := range r {
		if process.Running() {
			process.Kill()
		}
	}
}

// revive starts those again that have ended, as a kubelet does.
func (r replicas) revive(t *testing.T) {
	t.Helper()
	for _, process := range r {
		if !process.Running() {
			if err := process.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
