package integration

import (
	"fmt"
	"testing"
	"time"
)

// Sixty seconds of the audit log with fifty converged Foos: the operator writes its Lease and nothing else.
func TestConvergedFoosCostNoWrites(t *testing.T) {
	const count, span = 50, time.Minute
	for i := range count {
		foo := newFoo("quiet", fmt.Sprintf("quiet-%02d", i), replicas(int32(i%3)))
		create(t, foo)
		if i%3 > 0 {
			waitReady(t, foo)
		}
	}
	time.Sleep(3 * time.Second) // the last Deployments' statuses come to rest
	since := time.Now()
	time.Sleep(span)
	leases := 0
	for _, e := range operatorRequests(t, since) {
		switch {
		case e.Object().Resource == "leases" && e.Verb == "update":
			leases++
		case e.Object().Resource == "leases" && e.Verb != "watch":
			t.Errorf("the leader renews and the others watch; nobody has to ask: %s", e)
		case isWrite(e):
			t.Errorf("wrote although nothing changed: %s", e)
		}
	}
	if leases == 0 {
		t.Error("not even the Lease was renewed: the log does not show the operator")
	}
	t.Logf("%d Foos, %s: %d renewals of the Lease, no other write", count, span, leases)
}
