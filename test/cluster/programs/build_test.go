package programs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tinySource stands for test/cluster/kube: it compiles in a moment.
var tinySource = map[string]string{
	"go.mod": "module example.test/kube\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes v1.2.3\n)\n\nreplace k8s.io/kubernetes => ./kubernetes\n",
	"go.sum": "",
	"main.go": `package main

import "os"

func main() { os.Stdout.WriteString("etcd\nkube-apiserver\n") }
`,
	"kubernetes/go.mod": "module k8s.io/kubernetes\n\ngo 1.26.0\n",
}

// tinyCheckout returns the root of a checkout with tinySource, and has the test use cache folders of its own.
func tinyCheckout(t *testing.T) string {
	t.Helper()
	gocache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(gocache)))
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv(AssetsVariable, "")
	root := t.TempDir()
	for name, content := range tinySource {
		write(t, filepath.Join(root, "test", "cluster", "kube", name), content, 0o600)
	}
	return root
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func TestBuild(t *testing.T) {
	root := tinyCheckout(t)
	t.Setenv("GOFLAGS", "-mod=vendor -tags=nonsense") // neither may matter
	t.Setenv("GOOS", "plan9")
	want, err := Dir(root)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(filepath.Base(want), "v1.2.3-") {
		t.Errorf("the folder is %s, want the version in its name", want)
	}

	// Two builders at once: one waits for the other and both have the result.
	var outputs [2]bytes.Buffer
	var both sync.WaitGroup
	for i := range outputs {
		both.Go(func() {
			if dir, err := Build(t.Context(), root, &outputs[i]); err != nil || dir != want {
				t.Errorf("builder %d returned %s, %v, want %s", i, dir, err, want)
			}
		})
	}
	both.Wait()
	if built := strings.Count(outputs[0].String()+outputs[1].String(), "Built Kubernetes v1.2.3"); built != 1 {
		t.Errorf("it was built %d times:\n%s\n%s", built, &outputs[0], &outputs[1])
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if target, err := os.Readlink(filepath.Join(want, name)); err != nil || target != binary {
			t.Errorf("%s is a link to %q, %v", name, target, err)
		}
	}

	// What is there is not built again.
	var output bytes.Buffer
	if _, err := Find(t.Context(), root, &output, "etcd", "kube-apiserver"); err != nil || output.Len() > 0 {
		t.Errorf("find what is built: %v, %s", err, &output)
	}
	if _, err := Find(t.Context(), root, &output, "kubelet"); err == nil || !strings.Contains(err.Error(), "kubelet") {
		t.Errorf("find a program that is not part of it: %v", err)
	}
}

func TestBuildFails(t *testing.T) {
	root := tinyCheckout(t)
	write(t, filepath.Join(root, "test", "cluster", "kube", "main.go"), "package main\n\nfunc main() { undefined() }\n", 0o600)
	var output bytes.Buffer
	_, err := Build(t.Context(), root, &output)
	if err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Errorf("the error is %v, want the compiler's message", err)
	}
	dir, err := Dir(root)
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		if !strings.HasSuffix(entry.Name(), ".lock") {
			t.Errorf("a build that failed left %s", entry.Name())
		}
	}
}

func TestDirChangesWithSource(t *testing.T) {
	root := tinyCheckout(t)
	before, err := Dir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.sum", "main.go", "more.go"} {
		path := filepath.Join(root, "test", "cluster", "kube", name)
		write(t, path, "// "+name, 0o600)
		after, err := Dir(root)
		if err != nil {
			t.Fatal(err)
		}
		if after == before {
			t.Errorf("another %s has the same folder", name)
		}
		before = after
	}
}

func TestFindPrefersAssets(t *testing.T) {
	root := tinyCheckout(t)
	assets := t.TempDir()
	t.Setenv(AssetsVariable, assets)
	write(t, filepath.Join(assets, "etcd"), "#!/bin/sh\n", 0o700)
	write(t, filepath.Join(assets, "kube-apiserver"), "not a program", 0o600)
	var output bytes.Buffer
	paths, err := Find(t.Context(), root, &output, "etcd")
	if err != nil || paths["etcd"] != filepath.Join(assets, "etcd") || output.Len() > 0 {
		t.Errorf("etcd is %s, %v, %s", paths["etcd"], err, &output)
	}
	paths, err = Find(t.Context(), root, &output, "etcd", "kube-apiserver")
	if err != nil || paths["etcd"] != filepath.Join(assets, "etcd") || filepath.Dir(paths["kube-apiserver"]) == assets {
		t.Errorf("the programs are %v, %v, want only the API server built", paths, err)
	}
}

func TestRemoveUnused(t *testing.T) {
	parent := t.TempDir()
	for name, age := range map[string]time.Duration{"old": unusedAfter + time.Hour, "new": time.Hour} {
		write(t, filepath.Join(parent, name, binary), "", 0o700)
		when := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(parent, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	removeUnused(parent)
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 1 || left[0].Name() != "new" {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestEnvironment(t *testing.T) {
	got := environment([]string{"PATH=/bin", "GOFLAGS=-mod=mod -modcacherw -p=1 -race", "GOOS=plan9", "GOPROXY=off", "CGO_ENABLED=1"})
	want := []string{"PATH=/bin", "GOFLAGS=-modcacherw -p=1", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0"}
	if !slices.Equal(got, want) {
		t.Errorf("the environment is %q, want %q", got, want)
	}
}

func TestMeterLine(t *testing.T) {
	m := &meter{what: "Compiling packages", total: 100}
	for _, step := range []struct {
		done int
		want string
	}{
		{0, "Compiling packages: 0 of about 100, 1m0s"},
		{2, "Compiling packages: 2 of about 100, 1m0s (two)"},
		{25, "Compiling packages: 25 of about 100, 1m0s, some 3m0s left (two)"},
		{120, "Compiling packages: 120 of about 120, 1m0s (two)"},
	} {
		for m.done < step.done {
			m.step("two")
		}
		if got := m.line(time.Minute); got != step.want {
			t.Errorf("after %d: %q, want %q", step.done, got, step.want)
		}
	}
}
