package foo

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
	"github.com/controlee/controlee/pkg/retry"
)

// refusal is an error that trying again at once does not mend.
type refusal struct {
	reason, message string
	retryAfter      time.Duration // 0: an event will tell
}

// result says when to look again.
func (r *refusal) result() reconcile.Result {
	if r == nil || r.retryAfter == 0 {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: retry.Jitter(r.retryAfter)}
}

// refusalOf sorts an error: nil and nil for none, a refusal for one that belongs into the Foo's conditions, and the error
// itself for one that may pass.
func refusalOf(err error) (*refusal, error) {
	var foreign *apply.ForeignError
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &foreign):
		return &refusal{reason: v1alpha1.ReasonConflict, message: foreign.Error()}, nil // its deletion is an event
	case retry.IsTerminating(err):
		return &refusal{reason: v1alpha1.ReasonRefused, message: err.Error()}, nil // the Foo goes with its namespace
	case retry.IsRefusal(err):
		return &refusal{reason: v1alpha1.ReasonRefused, message: err.Error(), retryAfter: retry.AfterRefusal}, nil
	default:
		return nil, err
	}
}
