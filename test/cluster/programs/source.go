package programs

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// source is the module that becomes the programs.
type source struct {
	dir     string // test/cluster/kube of the checkout
	version string // of Kubernetes, such as v1.37.2
	modules int    // that its go.mod lists: about how many are downloaded
	hash    string // of all that the built program depends on
}

var (
	kubernetesLine = regexp.MustCompile(`(?m)^\s+k8s\.io/kubernetes (v\d+\.\d+\.\d+)$`)
	requireLine    = regexp.MustCompile(`(?m)^\s+\S+ v\S+( // indirect)?$`)
)

// readSource reads the module in a checkout. Its go.mod is the one place that says which Kubernetes is used.
func readSource(root string) (*source, error) {
	s := &source{dir: filepath.Join(root, "test", "cluster", "kube")}
	mod, err := os.ReadFile(filepath.Join(s.dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	match := kubernetesLine.FindSubmatch(mod)
	if match == nil {
		return nil, fmt.Errorf("%s requires no release of k8s.io/kubernetes", filepath.Join(s.dir, "go.mod"))
	}
	s.version = string(match[1])
	s.modules = len(requireLine.FindAll(mod, -1))

	files, err := filepath.Glob(filepath.Join(s.dir, "*.go"))
	if err != nil {
		return nil, err
	}
	files = append(files, filepath.Join(s.dir, "go.mod"), filepath.Join(s.dir, "go.sum"))
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.GOOS, runtime.GOARCH, s.buildArguments("-"))
	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // G304: the path is the checkout's
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(sum, filepath.Base(file), len(content))
		sum.Write(content)
	}
	s.hash = fmt.Sprintf("%x", sum.Sum(nil))[:12]
	return s, nil
}

// buildArguments are those of "go build" that shape the program; without the version Kubernetes would call itself v0.0.0.
func (s *source) buildArguments(output string) []string {
	const variables = "k8s.io/component-base/version."
	number := strings.Split(strings.TrimPrefix(s.version, "v"), ".")
	link := []string{
		"-s", "-w",
		"-X", variables + "gitVersion=" + s.version,
		"-X", variables + "gitMajor=" + number[0],
		"-X", variables + "gitMinor=" + number[1],
		"-X", variables + "gitCommit=unknown",
		"-X", variables + "gitTreeState=clean",
	}
	return []string{"-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags=" + strings.Join(link, " "), "-o", output}
}

// Version returns the version of Kubernetes that a checkout's tests run, such as v1.37.2.
func Version(root string) (string, error) {
	s, err := readSource(root)
	if err != nil {
		return "", err
	}
	return s.version, nil
}
