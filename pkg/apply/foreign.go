package apply

import (
	"fmt"

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
}

// Error tells the owner's author what is in the way and what to do.
func (e *ForeignError) Error() string {
	switch {
	case e.Predecessor:
		return fmt.Sprintf("%s %q still belongs to a deleted object of the same name; waiting until it is garbage-collected", e.Kind, e.Name)
	case e.Controller != "":
		return fmt.Sprintf("%s %q exists and belongs to %s; it is left alone: delete it or choose another name", e.Kind, e.Name, e.Controller)
	default:
		return fmt.Sprintf("%s %q exists and does not belong to this object; it is left alone: delete it or choose another name", e.Kind, e.Name)
	}
}

// mustControl checks by UID that wanted is the controller of live, an object of the given kind.
func mustControl(wanted metav1.OwnerReference, live client.Object, kind string) error {
	controller := metav1.GetControllerOf(live)
	if controller == nil {
		return &ForeignError{Kind: kind, Name: live.GetName()}
	}
	if controller.UID == wanted.UID {
		return nil
	}
	return &ForeignError{
		Kind:       kind,
		Name:       live.GetName(),
		Controller: fmt.Sprintf("%s %q", controller.Kind, controller.Name),
		// Same kind and name but another UID: the owner was deleted and made again before its children were collected.
		Predecessor: controller.APIVersion == wanted.APIVersion && controller.Kind == wanted.Kind && controller.Name == wanted.Name,
	}
}
