package bar

import (
	"errors"
	"time"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// refusal is an error that trying again at once does not mend: the Bar is Failed until something else changes.
type refusal struct {
	reason, message string
	retryAfter      time.Duration // 0: an event will tell
}

// refusalOf sorts an error: nil and nil for none, a refusal for one that belongs into the Bar's condition, and the error itself for one
// that may pass.
func refusalOf(err error) (*refusal, error) {
	var (
		refused  *provider.RefusalError
		foreign  *apply.ForeignError
		notThere *tenancy.NotInstalledError
	)
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &refused):
		return &refusal{reason: refused.Reason, message: refused.Message}, nil
	case errors.As(err, &foreign):
		return &refusal{reason: v1alpha1.ReasonConflict, message: foreign.Error()}, nil
	case errors.As(err, &notThere):
		return &refusal{reason: v1alpha1.ReasonKindNotInstalled, message: notThere.Error()}, nil
	case retry.IsTerminating(err): // the Bar goes with the namespace
		return &refusal{reason: v1alpha1.ReasonRefused, message: err.Error()}, nil
	case retry.IsRefusal(err):
		return &refusal{reason: v1alpha1.ReasonRefused, message: err.Error(), retryAfter: retry.AfterRefusal}, nil
	default:
		return nil, err
	}
}
