package cluster

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/controlee/controlee/test/try"
)

// TestCluster shares one cluster with everything on, since a start is most of what a test takes. The subtests leave it
// as they found it, but for the last one, which stops it.
func TestCluster(t *testing.T) {
	began := time.Now()
	c, err := Start(t.Context(), Options{ControllerManager: true, Nodes: 3, AuditLog: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Logf("started in %s", time.Since(began).Round(100*time.Millisecond))

	t.Run("version", func(t *testing.T) { testVersion(t, c) })
	t.Run("user certificate", func(t *testing.T) { testUserCertificate(t, c) })
	t.Run("pod token", func(t *testing.T) { testPodToken(t, c) })
	t.Run("admission", func(t *testing.T) { testAdmission(t, c) })
	t.Run("audit log", func(t *testing.T) { testAuditLog(t, c) })
	t.Run("deployment", func(t *testing.T) { testDeployment(t, c) })
	t.Run("garbage", func(t *testing.T) { testGarbage(t, c) })
	t.Run("kubectl", func(t *testing.T) { testKubectl(t, c) })
	t.Run("chart", func(t *testing.T) { testChart(t, c) })
	t.Run("operator", func(t *testing.T) { testOperator(t, c) })
	t.Run("attach", func(t *testing.T) { testAttach(t, c) })
	t.Run("API servers", func(t *testing.T) { testAPIServers(t, c) })
	t.Run("stop", func(t *testing.T) { testStop(t, c) })
}

func testVersion(t *testing.T, c *Cluster) {
	version, err := clientset(t, c.AdminConfig()).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != c.Version || version.Major != "1" || version.Minor == "" {
		t.Errorf("the API server is %+v, want %s", version, c.Version)
	}
}

// testStop is the last: afterwards there is no process and no file.
func testStop(t *testing.T, c *Cluster) {
	if err := c.Died(); err != nil {
		t.Error(err)
	}
	var pids []int
	for _, p := range c.servers() {
		pids = append(pids, p.PID())
	}
	if len(pids) != 6 {
		t.Errorf("%d servers ran, want etcd, two API servers, controller manager, scheduler and kwok", len(pids))
	}
	began := time.Now()
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("stopped in %s", time.Since(began).Round(100*time.Millisecond))
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
	}
	if _, err := os.Stat(c.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", c.Dir, err)
	}
	if err := c.Stop(); err != nil {
		t.Errorf("the second Stop: %v", err)
	}
}

func clientset(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func makeNamespace(t *testing.T, c *Cluster, name string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := clientset(t, c.AdminConfig()).CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// eventually tries until there is no error, and fails the test with the last one when the time is over.
func eventually(t *testing.T, limit time.Duration, do func(context.Context) error) {
	t.Helper()
	try.Until(t, limit, do)
}
