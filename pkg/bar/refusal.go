package bar

import (
	"errors"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// refusalOf is retry.RefusalOf, which knows besides what a provider refuses, what the cluster lacks
// and what the operator may not do in the namespace: with a refusal the Bar is Failed until
// something else changes.
func refusalOf(err error) (*retry.Refusal, error) {
	var (
		refused  *provider.RefusalError
		notThere *tenancy.NotInstalledError
		denied   *tenancy.AccessDeniedError
		taken    *takenError
	)
	switch {
	case errors.As(err, &taken):
		return &taken.Refusal, nil
	case errors.As(err, &refused):
		return &retry.Refusal{Reason: refused.Reason, Message: refused.Message}, nil
	case errors.As(err, &notThere):
		return &retry.Refusal{Reason: v1alpha1.ReasonKindNotInstalled, Message: notThere.Error()}, nil
	case errors.As(err, &denied):
		return &retry.Refusal{Reason: v1alpha1.ReasonAccessDenied, Message: denied.Error(), After: retry.AfterRefusal}, nil
	default:
		return retry.RefusalOf(err)
	}
}
