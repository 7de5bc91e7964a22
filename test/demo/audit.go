package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/controlee/controlee/pkg/leader"
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/demo/internal/tell"
)

const (
	// settleTime is for what the step before has set off: Events are written behind everything else.
	settleTime = 2 * time.Second
	// quietTime is how long nobody changes anything.
	quietTime = 10 * time.Second
)

// readAudit looks at what the operator asked the API server for: with nothing to do it writes nothing, and it never
// asked for what it may not.
func (w *world) readAudit(ctx context.Context) error {
	if err := sleep(ctx, settleTime); err != nil {
		return err
	}
	begin := time.Now()
	w.page.Say("For %s nobody changes anything.", tell.Duration(quietTime))
	if err := sleep(ctx, quietTime); err != nil {
		return err
	}
	events, err := w.cluster.AuditEvents(time.Time{})
	if err != nil {
		return err
	}
	operator := "system:serviceaccount:" + systemNamespace + ":" + operatorName
	var all, renewals int
	var writes, denied []string
	for _, event := range events {
		if event.User.Username != operator {
			continue
		}
		all++
		if event.Forbidden() {
			denied = append(denied, event.String())
		}
		if !isWrite(event) || event.RequestReceivedTimestamp.Time.Before(begin) {
			continue
		}
		if object := event.Object(); object.Resource == "leases" && object.Name == leader.LeaseName {
			renewals++
		} else {
			writes = append(writes, event.String())
		}
	}
	w.page.Say("Both replicas together, since they started: %d requests, %d of them denied.", all, len(denied))
	w.page.Say("In those %s: %d renewals of the Lease, %d other writes.", tell.Duration(quietTime), renewals, len(writes))
	switch {
	case len(denied) > 0:
		return &tell.MismatchError{Expected: "no request of the operator to be denied", Seen: strings.Join(denied, "\n")}
	case len(writes) > 0:
		return &tell.MismatchError{Expected: "no write of the operator but to its Lease", Seen: strings.Join(writes, "\n")}
	case renewals == 0:
		return &tell.MismatchError{Expected: fmt.Sprintf("renewals of the Lease by %s in the audit log", operator), Seen: "none"}
	}
	return nil
}

// isWrite says whether a request changes what is stored. Reviews are questions, though they are put as objects.
func isWrite(event cluster.AuditEvent) bool {
	group := event.Object().APIGroup
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, event.Verb) &&
		group != "authorization.k8s.io" && group != "authentication.k8s.io"
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
