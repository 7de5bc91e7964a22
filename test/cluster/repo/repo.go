// Package repo finds the checkout of Controlee that a test or command runs in.
package repo

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const moduleLine = "module github.com/controlee/controlee\n"

// Root returns the folder of the main module's go.mod: the nearest one at or above the working directory.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod")) //nolint:gosec // G304: the path is the checkout's
		switch {
		case err == nil && bytes.HasPrefix(mod, []byte(moduleLine)):
			return dir, nil
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod of github.com/controlee/controlee at or above %s", start)
		}
	}
}
