package recorder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/controlee/controlee/pkg/message"
)

// recorded is what client-go's recorder is called with. All but the note is in its key of a series.
type recorded struct {
	Regarding, Related   corev1.ObjectReference
	Kind, Reason, Action string
	Note                 string
}

// list stands for client-go's recorder.
type list []recorded

func (l *list) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	event := recorded{Kind: kind, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...)}
	if ref, ok := regarding.(*corev1.ObjectReference); ok {
		event.Regarding = *ref
	}
	if ref, ok := related.(*corev1.ObjectReference); ok {
		event.Related = *ref
	}
	*l = append(*l, event)
}

func TestSeries(t *testing.T) {
	service := func(resourceVersion string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "web", UID: "u", ResourceVersion: resourceVersion}}
	}
	var got list
	recorder := New(&got, clientgoscheme.Scheme)
	record := func(resourceVersion, action, address string) {
		recorder.Eventf(service(resourceVersion), service(resourceVersion), corev1.EventTypeNormal, "Ensured", action, "at %s", address)
	}
	record("1", "Sync", "203.0.113.1")
	record("2", "Sync", "203.0.113.1")
	record("3", "Sync", "203.0.113.2")
	record("4", "Look", "203.0.113.1")

	ref := corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: "n", Name: "web", UID: "u"}
	if got[0].Regarding != ref || got[0].Related != ref || got[0].Note != "at 203.0.113.1" {
		t.Errorf("got %+v", got[0])
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" {
		t.Errorf("the same fact about a newer version is another Event, -first +second\n%s", diff)
	}
	for _, other := range got[2:] {
		if other.Action == got[0].Action {
			t.Errorf("another fact has the same action: %+v", other)
		}
	}
}

func TestLimits(t *testing.T) {
	var got list
	recorder := New(&got, clientgoscheme.Scheme)
	recorder.Eventf(&corev1.Service{}, nil, corev1.EventTypeNormal, "Ensured", "Sync", "100%% %s", strings.Repeat("x", 5000))
	if event := got[0]; len(event.Note) > message.MaxEventNote || !strings.HasPrefix(event.Note, "100% xxx") || event.Related != (corev1.ObjectReference{}) {
		t.Errorf("got %+v", event)
	}
}
