package failover

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/controlee/controlee/test/cluster"
)

// podNameClaim is where the API server puts the name of the Pod that a token is bound to.
const podNameClaim = "authentication.kubernetes.io/pod-name"

// auditLog collects the operator's writes from the audit logs of all API servers, as they are written.
type auditLog struct {
	servers []*cluster.APIServer
	offsets map[string]int64
	writes  []write
	refused int // by the fence
}

// read takes in what was logged since the last time.
func (l *auditLog) read() error {
	if l.offsets == nil {
		l.offsets = map[string]int64{}
	}
	for _, server := range l.servers {
		if err := l.readFile(server.AuditLogPath); err != nil {
			return fmt.Errorf("read the audit log %s: %w", server.AuditLogPath, err)
		}
	}
	return nil
}

func (l *auditLog) readFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if _, err := file.Seek(l.offsets[path], io.SeekStart); err != nil {
		return err
	}
	for lines := bufio.NewReaderSize(file, 1<<20); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil // the rest of the line, if there is any, is read the next time
		}
		if err != nil {
			return err
		}
		l.offsets[path] += int64(len(line))
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return err
		}
		if err := l.add(&event); err != nil {
			return err
		}
	}
}

func (l *auditLog) add(event *auditv1.Event) error {
	switch event.Verb {
	case "create", "update", "patch", "delete":
	default:
		return nil
	}
	if event.User.Username != operatorUser || event.ObjectRef == nil || event.ResponseStatus == nil || event.Stage != auditv1.StageResponseComplete {
		return nil
	}
	ref := event.ObjectRef
	w := write{
		code: int(event.ResponseStatus.Code), verb: event.Verb,
		object:   fmt.Sprintf("%s %s/%s", ref.Resource, ref.Namespace, ref.Name),
		received: event.RequestReceivedTimestamp.Time, answered: event.StageTimestamp.Time,
	}
	if pod := event.User.Extra[podNameClaim]; len(pod) == 1 {
		w.pod = pod[0]
	}
	switch ref.Resource {
	case "leases", "events", "selfsubjectaccessreviews", "tokenreviews", "subjectaccessreviews":
		w.exempt = true
	case "fences":
		w.exempt = true // its status, too: the leader's first write is the one that does something for somebody
	}
	if strings.Contains(event.ResponseStatus.Message, "controlee-fenced") {
		l.refused++
	}
	if event.ResponseObject != nil && w.accepted() {
		var object struct {
			Metadata struct {
				ResourceVersion string `json:"resourceVersion"`
			} `json:"metadata"`
			Spec struct {
				Epoch int64 `json:"epoch"`
			} `json:"spec"`
		}
		if err := json.Unmarshal(event.ResponseObject.Raw, &object); err != nil {
			return err
		}
		if version := object.Metadata.ResourceVersion; version != "" {
			var err error
			if w.version, err = strconv.ParseUint(version, 10, 64); err != nil {
				return err
			}
		}
		if ref.Resource == "fences" && ref.Subresource == "" {
			w.epoch = object.Spec.Epoch
		}
	}
	l.writes = append(l.writes, w)
	return nil
}
