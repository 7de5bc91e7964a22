package programs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// lock waits until this process alone holds the lock file. The lock goes with the process, however it ends.
func lock(ctx context.Context, path string, progress io.Writer) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644) //nolint:gosec // G304, G302: a lock in the user's cache folder
	if err != nil {
		return nil, err
	}
	for said := false; ; said = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil //nolint:errcheck // nothing was written
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			file.Close() //nolint:errcheck // nothing was written
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !said {
			fmt.Fprintf(progress, "Another process is building Kubernetes (it holds %s); waiting for it.\n", path)
		}
		select {
		case <-ctx.Done():
			file.Close() //nolint:errcheck // nothing was written
			return nil, ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
	}
}
