package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// auditPolicy logs who did what to which object and how it ended, once for each request.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// auditResponsesPolicy logs besides, of requests that change something, what came of it.
const auditResponsesPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: RequestResponse
  verbs: [create, update, patch, delete]
  resources:
  - group: ""
  - group: apps
  - group: autoscaling
  - group: policy
  - group: controlee.dev
  - group: coordination.k8s.io
- level: Metadata
`

// AuditEvent is one line of the audit log.
type AuditEvent struct {
	auditv1.Event
}

// Code returns the HTTP status of the answer, 0 if there was none.
func (e AuditEvent) Code() int {
	if e.ResponseStatus == nil {
		return 0
	}
	return int(e.ResponseStatus.Code)
}

// Forbidden tells whether the authorizer denied the request.
func (e AuditEvent) Forbidden() bool {
	return e.Annotations["authorization.k8s.io/decision"] == "forbid"
}

// Object returns what the request is about; without one, as for /healthz, all fields are empty.
func (e AuditEvent) Object() auditv1.ObjectReference {
	if e.ObjectRef == nil {
		return auditv1.ObjectReference{}
	}
	return *e.ObjectRef
}

// String says who did what and how it ended, on one line.
func (e AuditEvent) String() string {
	return fmt.Sprintf("%s %s %s: %d", e.User.Username, e.Verb, e.RequestURI, e.Code())
}

// AuditEvents returns what the API servers logged about requests that they received at or after a time, in the order
// they received them. A request is logged when it has been answered; a watch when it begins and again when it ends.
func (c *Cluster) AuditEvents(since time.Time) ([]AuditEvent, error) {
	if !c.options.AuditLog {
		return nil, errors.New("the cluster has no audit log: set Options.AuditLog")
	}
	c.mu.Lock()
	servers := slices.Clone(c.apiServers)
	c.mu.Unlock()
	// The log's times are in microseconds.
	since = since.Truncate(time.Microsecond)
	var events []AuditEvent
	for _, s := range servers {
		content, err := os.ReadFile(s.AuditLogPath)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(content) {
			if !bytes.HasSuffix(line, []byte("\n")) {
				break // it is being written
			}
			var event AuditEvent
			if err := json.Unmarshal(line, &event.Event); err != nil {
				return nil, fmt.Errorf("read %s: %w", s.AuditLogPath, err)
			}
			if !event.RequestReceivedTimestamp.Time.Before(since) {
				events = append(events, event)
			}
		}
	}
	slices.SortStableFunc(events, func(a, b AuditEvent) int {
		return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp.Time)
	})
	return events, nil
}
