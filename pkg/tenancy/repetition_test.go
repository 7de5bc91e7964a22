package tenancy

import (
	"testing"
	"time"
)

// A trouble that lasts is logged a few times at first, then every ten minutes.
func TestRepetition(t *testing.T) {
	now := epoch.Time
	r := &repetition{}
	count := func(kind string, span time.Duration) (n int) {
		for end := now.Add(span); now.Before(end); now = now.Add(15 * time.Second) {
			if r.due(kind, now) {
				n++
			}
		}
		return n
	}
	if got := count("AccessDenied", time.Hour); got < 6 || got > 11 {
		t.Errorf("logged %d times in the first hour", got)
	}
	if got := count("AccessDenied", 10*time.Hour); got > 60 {
		t.Errorf("logged %d times in ten hours more", got)
	}
	if !r.due("CacheNotSynced", now) || r.due("CacheNotSynced", now) {
		t.Error("another kind of trouble is logged at once, and once")
	}
	r.reset()
	if !r.due("CacheNotSynced", now) {
		t.Error("a trouble that has come back is logged at once")
	}
}
