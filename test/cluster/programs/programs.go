// Package programs finds the Kubernetes programs that a test cluster runs, and builds those that are missing.
//
// Every part of Kubernetes is a Go module, so nothing but Go is needed: test/cluster/kube is one program that is all of
// them, built once into the user's cache folder and shared by every checkout with the same sources. What the folder in
// KUBEBUILDER_ASSETS holds is used instead.
package programs

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// AssetsVariable is the environment variable that names a folder with ready-made programs, as envtest has it.
const AssetsVariable = "KUBEBUILDER_ASSETS"

// Paths maps the name of a program to its file.
type Paths map[string]string

// Find returns the files of the named programs. It builds them first if one is neither in KUBEBUILDER_ASSETS nor built
// yet, which takes minutes the first time and says so on progress.
func Find(ctx context.Context, root string, progress io.Writer, names ...string) (Paths, error) {
	paths := Paths{}
	var missing []string
	for _, name := range names {
		if path, ok := asset(name); ok {
			paths[name] = path
		} else {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return paths, nil
	}
	dir, err := Build(ctx, root, progress)
	if err != nil {
		return nil, err
	}
	for _, name := range missing {
		path := filepath.Join(dir, name)
		if !isProgram(path) {
			return nil, fmt.Errorf("%s is no program of the kind that test/cluster/kube builds", name)
		}
		paths[name] = path
	}
	return paths, nil
}

func asset(name string) (string, bool) {
	dir := os.Getenv(AssetsVariable)
	if dir == "" {
		return "", false
	}
	path := filepath.Join(dir, name)
	return path, isProgram(path)
}

func isProgram(path string) bool {
	info, err := os.Stat(path) //nolint:gosec // G703: the user says where the programs are
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
