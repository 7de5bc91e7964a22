package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// actVariable makes the test program act as something else than the tests.
const actVariable = "CONTROLEE_CLUSTER_TEST_ACT"

func TestMain(m *testing.M) {
	switch os.Getenv(actVariable) {
	case "":
		os.Exit(m.Run())
	case "parent":
		actAsParent()
	case "operator":
		actAsOperator()
	}
}

// actAsParent starts a cluster in the folder named by the first argument, pauses its API server, prints the processes'
// ids, and waits to be killed.
func actAsParent() {
	c, err := Start(context.Background(), Options{Dir: os.Args[1]})
	if err == nil {
		err = c.APIServer.Signal(syscall.SIGSTOP)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.Etcd.PID(), c.APIServer.PID())
	time.Sleep(time.Minute)
}

// TestKilledParent shows that a test that is killed leaves no server behind, not even one that is paused.
func TestKilledParent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self, t.TempDir())
	parent.Env = append(os.Environ(), actVariable+"=parent")
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(errors.Join(err, parent.Wait()))
	}
	var etcd, apiServer int
	if _, err := fmt.Sscan(line, &etcd, &apiServer); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{etcd, apiServer} {
		if err := syscall.Kill(pid, 0); err != nil {
			t.Fatalf("server %d does not run: %v", pid, err)
		}
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait() //nolint:errcheck // it was killed
	eventually(t, 10*time.Second, func(context.Context) error {
		for _, pid := range []int{etcd, apiServer} {
			if !gone(pid) {
				return fmt.Errorf("server %d runs on", pid)
			}
		}
		return nil
	})
}

// gone tells whether a process has ended, though whoever inherited it may not have taken note yet.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// testAPIServers pauses, kills and restarts an API server, and runs a second one beside it.
func testAPIServers(t *testing.T, c *Cluster) {
	second, err := c.AddAPIServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := func(s *APIServer) error {
		config := s.Config(c.AdminConfig())
		config.Timeout = time.Second
		_, err := clientset(t, config).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := list(second); err != nil {
		t.Fatalf("the second API server: %v", err)
	}
	if err := c.APIServer.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := list(c.APIServer); err == nil {
		t.Error("a paused API server answers")
	}
	if err := list(second); err != nil {
		t.Errorf("the second API server, with the first one paused: %v", err)
	}
	if err := c.APIServer.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := list(c.APIServer); err != nil {
		t.Errorf("an API server that goes on: %v", err)
	}
	c.APIServer.Kill()
	if err := list(c.APIServer); err == nil {
		t.Error("a killed API server answers")
	}
	if err := errors.Join(c.APIServer.Start(), c.APIServer.WaitReady(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := list(c.APIServer); err != nil {
		t.Errorf("an API server that was started again: %v", err)
	}
	if err := c.Died(); err != nil {
		t.Errorf("a killed server counts as one that died: %v", err)
	}
}

// TestDied shows what a test is told about a server that does not start or that ends by itself.
func TestDied(t *testing.T) {
	p := &Process{Name: "sh", LogPath: t.TempDir() + "/log", path: "/bin/sh", args: []string{"-c", "echo out of luck; exit 3"}}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	err := until(t.Context(), p, 10*time.Second, func(context.Context) error { return errors.New("not yet") })
	if err == nil || !strings.Contains(err.Error(), "out of luck") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("the error is %v, want the exit status and the log", err)
	}
	if err := p.Start(); err != nil {
		t.Errorf("start it again: %v", err)
	}
	p.Kill()
}

// TestStopKills shows that a process which does not heed SIGTERM is killed, and that this is an error.
func TestStopKills(t *testing.T) {
	p := &Process{
		Name: "sh", LogPath: t.TempDir() + "/log", grace: 300 * time.Millisecond,
		path: "/bin/sh", args: []string{"-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"},
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func(context.Context) error {
		if !strings.Contains(p.LogTail(1), "ready") {
			return errors.New("not ready")
		}
		return nil
	})
	if err := p.Stop(); err == nil || p.Running() {
		t.Errorf("the error is %v, running: %v", err, p.Running())
	}
}
