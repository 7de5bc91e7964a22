package foo

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
)

// Reasons of Events that say what the controller did.
const (
	eventCreated = "Created"
	eventUpdated = "Updated"
	eventDeleted = "Deleted"
)

// apply ensures one child and tells the Foo when that took a change. A fight over a field gives one
// series of Events.
func (r *Reconciler) apply(ctx context.Context, foo *v1alpha1.Foo, live client.Object, want runtime.ApplyConfiguration) error {
	reason, verb := eventUpdated, "Update"
	if live.GetUID() == "" {
		reason, verb = eventCreated, "Create"
	}
	before := live.GetResourceVersion()
	if err := r.Writer.Ensure(ctx, foo, live, want); err != nil {
		return err
	}
	if live.GetResourceVersion() != before {
		r.tell(foo, reason, verb, live)
	}
	return nil
}

// delete deletes one child that is no longer wanted and tells the Foo.
func (r *Reconciler) delete(ctx context.Context, foo *v1alpha1.Foo, live client.Object) error {
	deleted, err := r.Writer.Delete(ctx, foo, live)
	if deleted && err == nil {
		r.tell(foo, eventDeleted, "Delete", live)
	}
	return err
}

// tell tells the Foo what was done with a child.
func (r *Reconciler) tell(foo *v1alpha1.Foo, reason, verb string, child client.Object) {
	kind := kindOf(child)
	r.Recorder.Eventf(foo, nil, corev1.EventTypeNormal, reason, verb+kind, "%s %s %s", reason, kind, child.GetName())
}

// announce tells of conditions that changed, on the Foo, once per change.
func (r *Reconciler) announce(foo *v1alpha1.Foo, before, after []metav1.Condition) {
	for _, condition := range after {
		old := meta.FindStatusCondition(before, condition.Type)
		if old != nil && old.Status == condition.Status && old.Reason == condition.Reason {
			continue
		}
		switch {
		case condition.Type == v1alpha1.FooReady && condition.Status == metav1.ConditionTrue:
			r.Recorder.Eventf(foo, nil, corev1.EventTypeNormal, condition.Reason, "Report", "%s", message.Shorten(condition.Message, message.MaxEventNote))
		case condition.Type == v1alpha1.FooReady && isTrouble(condition.Reason):
			r.Recorder.Eventf(foo, nil, corev1.EventTypeWarning, condition.Reason, "Report", "%s", message.Shorten(condition.Message, message.MaxEventNote))
		}
	}
}

// isTrouble says whether a reason of Ready=False takes somebody to look into it.
func isTrouble(reason string) bool {
	switch reason {
	case v1alpha1.ReasonConflict, v1alpha1.ReasonRefused, v1alpha1.ReasonReplicaFailure, v1alpha1.ReasonProgressDeadlineExceeded:
		return true
	}
	return false
}

// kindOf gives the kind of a typed object, whose own kind field the API machinery leaves empty.
func kindOf(object client.Object) string {
	return reflect.TypeOf(object).Elem().Name()
}
