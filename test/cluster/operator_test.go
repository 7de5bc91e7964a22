package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// actAsOperator takes the flags that the harness gives, logs who it is, and is ready.
func actAsOperator() {
	kubeconfig := flag.String("kubeconfig", "", "")
	flag.String("metrics-bind-address", "", "")
	flag.Bool("metrics-auth", true, "")
	probes := flag.String("health-probe-bind-address", "", "")
	flag.Parse()
	if err := logIdentity(*kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	http.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(*probes, nil)) //nolint:gosec // G114: a test's server
	os.Exit(1)
}

func logIdentity(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(context.Background(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	user := review.Status.UserInfo
	fmt.Fprintf(os.Stderr, "I am %s in pod %s, told that it is %s/%s %s\n", user.Username, user.Extra["authentication.kubernetes.io/pod-uid"],
		os.Getenv("POD_NAMESPACE"), os.Getenv("POD_NAME"), os.Getenv("POD_UID"))
	return nil
}

func testOperator(t *testing.T, c *Cluster) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	namespace := makeNamespace(t, c, "operator")
	t.Setenv(actVariable, "operator")
	var log strings.Builder
	p, err := c.StartOperator(t.Context(), Operator{
		Namespace: namespace, ServiceAccount: "controlee", PodName: "controlee-0",
		Binary: self, Args: []string{"--metrics-auth=false"}, Stderr: &log,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(p.MetricsURL, "http://") {
		t.Errorf("metrics without authentication are at %s", p.MetricsURL)
	}
	p.Kill()
	want := fmt.Sprintf("I am system:serviceaccount:operator:controlee in pod [%s], told that it is operator/controlee-0 %s", p.PodUID, p.PodUID)
	if !strings.Contains(log.String(), want) || !strings.Contains(p.LogTail(10), want) {
		t.Errorf("the operator says:\n%s\nand its log:\n%s\nwant %s", log.String(), p.LogTail(10), want)
	}
	// A restarted container is in the same pod.
	if err := errors.Join(p.Start(), p.Ready(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := p.Wait(); err == nil {
		t.Error("a process that SIGTERM ended counts as one that exited with 0")
	}
	if err := p.Ready(t.Context()); err == nil {
		t.Error("an operator that has ended is ready")
	}
}
