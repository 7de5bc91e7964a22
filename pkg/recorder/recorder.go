// Package recorder records Events such that equal ones become a series.
package recorder

import (
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/reference"

	"github.com/controlee/controlee/pkg/message"
)

// Recorder passes Events on to client-go's recorder, which makes a series of those whose type,
// reason, action and references are equal. Two things have to be changed for that.
//
// A reference to an object holds the object's resource version, which each write of a status
// changes: no two Events would be equal. The references that Recorder passes on have none.
//
// A series keeps the note of its first Event, so that another fact with the same reason would never
// be shown: the new address of a load balancer, for example. The action that Recorder passes on
// ends in a hash of the note.
type Recorder struct {
	events events.EventRecorder
	scheme *runtime.Scheme
}

var _ events.EventRecorder = &Recorder{}

// New makes a Recorder for objects of the kinds that a scheme knows.
func New(recorder events.EventRecorder, scheme *runtime.Scheme) *Recorder {
	return &Recorder{events: recorder, scheme: scheme}
}

// Eventf records an Event.
func (r *Recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	text := message.Shorten(fmt.Sprintf(note, args...), message.MaxEventNote)
	r.events.Eventf(r.reference(regarding), r.reference(related), kind, reason, distinct(action, text), "%s", text)
}

// reference refers to an object without its resource version.
func (r *Recorder) reference(object runtime.Object) runtime.Object {
	if object == nil {
		return nil
	}
	ref, err := reference.GetReference(r.scheme, object)
	if err != nil {
		return object // client-go's recorder meets the same error, and logs it
	}
	return &corev1.ObjectReference{
		APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID, FieldPath: ref.FieldPath,
	}
}

// distinct gives each note of an action an action of its own.
func distinct(action, note string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(note)) // never fails
	return fmt.Sprintf("%s-%08x", action, hash.Sum32())
}
