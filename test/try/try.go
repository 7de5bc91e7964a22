// Package try waits, in tests, for what takes a moment.
package try

import (
	"context"
	"testing"
	"time"
)

// pause is the time between two tries.
const pause = 50 * time.Millisecond

// Until tries until there is no error. When the limit is over it fails the test with the last error. The context that try gets ends
// with the limit and not with the test, since clean-up waits too.
func Until(tb testing.TB, limit time.Duration, try func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var last error
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		if last == nil || ctx.Err() == nil {
			last = err // that time ran out in the midst of a request says less
		}
		select {
		case <-ctx.Done():
			tb.Fatalf("not within %s: %v", limit, last)
		case <-time.After(pause):
		}
	}
}
