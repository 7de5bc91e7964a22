package apply

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ForeignError says that the name of a wanted object is taken by one that the owner does not control.
type ForeignError struct {
	// Kind and Name of the object that is in the way.
	Kind, Name string
	// Predecessor is true when the object belongs to an earlier owner of the same kind and name that was deleted:
	// Kubernetes collects it, so waiting is enough.
	Predecessor bool
	// Controller is the kind and name of the object's controller, empty when it has none.
	Controller string
	// Finalizers hold the object, which is being deleted. There are none while it is not.
	Finalizers []string
}

// Error tells the owner's author what is in the way and what to do.
func (e *ForeignError) Error() string {
	switch {
	case len(e.Finalizers) > 0:
		return fmt.Sprintf("%s %q %s and is being deleted; it is held by the finalizers %s: whoever set them has to remove them",
			e.Kind, e.Name, e.belonging(), strings.Join(e.Finalizers, ", "))
	case e.Predecessor:
		return fmt.Sprintf("%s %q %s; waiting until it is garbage-collected", e.Kind, e.Name, e.belonging())
	default:
		return fmt.Sprintf("%s %q %s; it is left alone: delete it or choose another name", e.Kind, e.Name, e.belonging())
	}
}

// belonging says whose the object is.
func (e *ForeignError) belonging() string {
	switch {
	case e.Predecessor:
		return "still belongs to a deleted object of the same name"
	case e.Controller != "":
		return "exists and belongs to " + e.Controller
	default:
		return "exists and does not belong to this object"
	}
}

// mustControl checks by UID that wanted is the controller of live, an object of the given kind.
func mustControl(wanted metav1.OwnerReference, live client.Object, kind string) error {
	controller := metav1.GetControllerOf(live)
	if controller != nil && controller.UID == wanted.UID {
		return nil
	}
	foreign := &ForeignError{Kind: kind, Name: live.GetName()}
	if !live.GetDeletionTimestamp().IsZero() {
		foreign.Finalizers = live.GetFinalizers()
	}
	if controller != nil {
		foreign.Controller = fmt.Sprintf("%s %q", controller.Kind, controller.Name)
		// Same kind and name but another UID: the owner was deleted and made again before its children were collected.
		foreign.Predecessor = controller.APIVersion == wanted.APIVersion && controller.Kind == wanted.Kind && controller.Name == wanted.Name
	}
	return foreign
}
