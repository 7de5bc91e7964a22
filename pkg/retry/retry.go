// Package retry says which errors of the API server may pass, and when to try again.
package retry

import (
	"errors"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/controlee/controlee/pkg/leader"
)

// AfterRefusal is how long an object waits after the API server refused what it needs. Quota that
// becomes free and a policy that is changed send the controllers no event.
const AfterRefusal = time.Minute

// lackedRight is the message of an error that the authorizer has caused, as the API server composes
// it:
//
//	bars.controlee.dev "web" is forbidden: User "u" cannot patch resource "bars" in API group "controlee.dev" in the namespace "n"
//
// Admission plugins, policies and webhooks answer Forbidden as well. Their own words come after
// others of the API server, such as the name of the policy, and may well hold the same ones as the
// authorizer's: so the beginning counts.
var lackedRight = regexp.MustCompile(beginning + ` (resource|path)\b`)

// lackedRightIn is the same for a right in a namespace.
var lackedRightIn = regexp.MustCompile(beginning + ` resource "([^"]*)" in API group "([^"]*)" in the namespace "([^"]*)"`)

const beginning = `^(?:\S+ (?:"(?:[^"\\]|\\.)*" )?is )?forbidden: User "(?:[^"\\]|\\.)*" cannot \S+`

// LacksRight says whether the authorizer refused a request, and not admission: quota, Pod Security
// or a policy.
func LacksRight(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsForbidden(err) && errors.As(err, &status) && lackedRight.MatchString(status.Status().Message)
}

// LacksRightIn returns the namespace in which the authorizer refused a request, and "" for a right
// at cluster scope and for any other error. To read a Namespace is a right at cluster scope,
// although the refusal names the Namespace as if the request were in it.
func LacksRightIn(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) {
		return ""
	}
	match := lackedRightIn.FindStringSubmatch(status.Status().Message)
	if match == nil {
		return ""
	}
	resource, group, namespace := match[1], match[2], match[3]
	if name, _, _ := strings.Cut(resource, "/"); name == "namespaces" && group == "" {
		return ""
	}
	return namespace
}

// IsRefusal says whether the API server will refuse the same request again until something else
// changes: quota, a policy, validation, size. What the fence refuses is not the object's fault:
// this replica no longer leads, or has just begun to.
func IsRefusal(err error) bool {
	return err != nil && !LacksRight(err) && !leader.IsFenced(err) &&
		(apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || isTooLarge(err))
}

// IsTerminating says whether a namespace takes no new objects because it is being deleted.
func IsTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// isTooLarge says whether an object is larger than the API server takes, or than its store does;
// the latter comes as an internal error, with the store's words.
func isTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "etcdserver: request is too large")
}

// Outcome passes on what the reconcile of a tenant's object ended with. A missing right has the
// operator's access to the namespace checked again: suspect does that.
func Outcome(result reconcile.Result, err error, suspect func()) (reconcile.Result, error) {
	if LacksRight(err) {
		suspect()
	}
	return result, err
}
