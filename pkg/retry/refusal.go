package retry

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
)

// Refusal is an error that trying again at once does not mend. It belongs into the object's conditions.
type Refusal struct {
	// Reason and Message are those of the condition.
	Reason, Message string
	// After is when to try again; 0: an event will tell.
	After time.Duration
}

// Result says when to look again; nil, which is no refusal, says never.
func (r *Refusal) Result() reconcile.Result {
	if r == nil || r.After == 0 {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: Jitter(r.After)}
}

// RefusalOf sorts an error: nil and nil for none, a Refusal for one that stays until something else changes, and the error itself
// for one that may pass.
func RefusalOf(err error) (*Refusal, error) {
	var foreign *apply.ForeignError
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &foreign):
		return &Refusal{Reason: v1alpha1.ReasonConflict, Message: foreign.Error()}, nil // its deletion is an event
	case IsTerminating(err):
		return &Refusal{Reason: v1alpha1.ReasonRefused, Message: err.Error()}, nil // the object goes with the namespace
	case IsRefusal(err):
		return &Refusal{Reason: v1alpha1.ReasonRefused, Message: err.Error(), After: AfterRefusal}, nil
	default:
		return nil, err
	}
}
