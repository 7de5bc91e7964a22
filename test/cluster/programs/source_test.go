package programs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/controlee/controlee/test/cluster/repo"
)

// TestModulesAgree keeps the versions of what both modules use the same. Of a thousand packages that both need, each is
// then compiled once, which spares a third of the time that the Kubernetes programs take.
func TestModulesAgree(t *testing.T) {
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	ours := requirements(t, filepath.Join(root, "go.mod"))
	both := 0
	for module, version := range requirements(t, filepath.Join(root, "test", "cluster", "kube", "go.mod")) {
		our, ok := ours[module]
		if !ok {
			continue
		}
		both++
		if our != version {
			t.Errorf("%s is %s in go.mod and %s in test/cluster/kube/go.mod: go get the higher one in the other", module, our, version)
		}
	}
	if both < 50 {
		t.Errorf("only %d modules are in both: were they read right?", both)
	}
}

func requirements(t *testing.T, path string) map[string]string {
	t.Helper()
	mod, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^\s+(\S+) (v\S+)( // indirect)?$`).FindAllStringSubmatch(string(mod), -1) {
		versions[match[1]] = match[2]
	}
	return versions
}

func TestVersionInGoMod(t *testing.T) {
	root := tinyCheckout(t)
	if version, err := Version(root); err != nil || version != "v1.2.3" {
		t.Errorf("the version is %q, %v", version, err)
	}
	write(t, filepath.Join(root, "test", "cluster", "kube", "go.mod"), "module example.test/kube\n", 0o600)
	if version, err := Version(root); err == nil {
		t.Errorf("the version of a go.mod that names none is %q", version)
	}
}
