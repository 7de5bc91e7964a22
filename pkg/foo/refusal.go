package foo

import (
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
)

// refusedRetry is how long a Foo waits after the API server refused one of its objects. Quota that becomes free and a
// policy that is changed send the controller no event.
const refusedRetry = time.Minute

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
	return reconcile.Result{RequeueAfter: jitter(r.retryAfter)}
}

// refusalOf sorts an error: nil and nil for none, a refusal for one that belongs into the Foo's conditions, and the error
// itself for one that may pass.
func (r *Reconciler) refusalOf(foo *v1alpha1.Foo, err error) (*refusal, error) {
	var foreign *apply.ForeignError
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &foreign):
		return &refusal{reason: v1alpha1.ReasonConflict, message: foreign.Error()}, nil // its deletion is an event
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &refusal{reason: v1alpha1.ReasonRefused, message: err.Error()}, nil // the Foo goes with its namespace
	case lacksRight(err):
		r.Namespaces.Suspect(foo.Namespace)
		return nil, err
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), isTooLarge(err):
		return &refusal{reason: v1alpha1.ReasonRefused, message: err.Error(), retryAfter: refusedRetry}, nil
	default:
		return nil, err
	}
}

// lacksRight says whether the authorizer refused a request, and not an admission plugin: quota, Pod Security and policies
// answer Forbidden as well, but only the authorizer says who cannot do what.
func lacksRight(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `" cannot `)
}

// isTooLarge says whether an object is larger than the API server takes, or than its store does; the latter comes as an
// internal error, with the store's words.
func isTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "etcdserver: request is too large")
}
