package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// makeDir makes the cluster's folder, or its subfolders in the caller's, and notes what Stop is to remove.
func (c *Cluster) makeDir(dir string) error {
	var err error
	if dir == "" {
		if dir, err = os.MkdirTemp("", "controlee-"); err != nil {
			return err
		}
		c.remove = append(c.remove, dir)
	}
	if c.Dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if _, err := os.Stat(c.Dir); errors.Is(err, os.ErrNotExist) {
		c.remove = append(c.remove, c.Dir)
	}
	for _, sub := range []string{"pki", "etcd", "logs", "run"} {
		path := filepath.Join(c.Dir, sub)
		if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 {
			return fmt.Errorf("%s is not empty: is another cluster running there?", path)
		}
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		c.remove = append(c.remove, path)
	}
	return nil
}

func (c *Cluster) removeFiles() error {
	var all []error
	for _, path := range c.remove {
		all = append(all, os.RemoveAll(path))
	}
	return errors.Join(all...)
}

// file writes a file that only this user can read, and returns its path.
func (c *Cluster) file(name string, content []byte) (string, error) {
	path := filepath.Join(c.Dir, name)
	return path, os.WriteFile(path, content, 0o600)
}
