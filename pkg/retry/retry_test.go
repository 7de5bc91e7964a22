package retry

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var (
	bars     = schema.GroupResource{Group: "controlee.dev", Resource: "bars"}
	services = schema.GroupResource{Resource: "services"}
)

func TestErrors(t *testing.T) {
	forbidden := func(in schema.GroupResource, name, text string) error {
		return apierrors.NewForbidden(in, name, errors.New(text))
	}
	webhook := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: `admission webhook "guard.example.com" denied the request: User "u" cannot create resource "services"`,
	}}
	const right = `User "system:serviceaccount:s:o" cannot create resource "bars" in API group "controlee.dev" in the namespace "n"`
	cases := map[string]struct {
		reason  string
		err     error
		refusal bool
		right   bool // lacks it
	}{
		"None":    {reason: "No error is no refusal."},
		"Quota":   {reason: "Quota answers like the authorizer, but can be mended by the tenant.", err: forbidden(bars, "x", "exceeded quota: q"), refusal: true},
		"Right":   {reason: "Only the authorizer says who cannot do what.", err: forbidden(bars, "x", right), right: true},
		"Reason":  {reason: "An authorizer may add why.", err: forbidden(bars, "x", right+`: RBAC: role.rbac.authorization.k8s.io "r" not found`), right: true},
		"NoName":  {reason: "A list or a create names no object.", err: forbidden(services, "", right), right: true},
		"NoKind":  {reason: "A path outside of the API has no kind.", err: forbidden(schema.GroupResource{}, "", `User "u" cannot get path "/version"`), right: true},
		"Quoted":  {reason: "The name of a user may hold anything.", err: forbidden(bars, "x", fmt.Sprintf(`User %q cannot get resource "bars" in API group "" at the cluster scope`, `a" cannot \`)), right: true},
		"Wrapped": {reason: "What a caller adds in front hides nothing.", err: fmt.Errorf("Service: %w", forbidden(bars, "x", right)), right: true},
		"Policy": {
			reason:  "A platform's policy has words of its own, which may be the authorizer's.",
			err:     forbidden(services, "web", `ValidatingAdmissionPolicy 'p' with binding 'p' denied request: Services of type "NodePort" cannot be created here`),
			refusal: true,
		},
		"Mimicry": {
			reason:  "They may even be its whole sentence.",
			err:     forbidden(services, "web", "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: services is forbidden: "+right),
			refusal: true,
		},
		"Webhook":     {reason: "So does a webhook.", err: webhook, refusal: true},
		"PodSecurity": {reason: "So does Pod Security.", err: forbidden(schema.GroupResource{Resource: "pods"}, "web", `violates PodSecurity "restricted:latest": runAsNonRoot != true (container "web" cannot run as root)`), refusal: true},
		"Owner":       {reason: "So does an admission plugin that asks the authorizer in its own name.", err: forbidden(services, "web", `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: User "u" cannot update resource "x"`), refusal: true},
		"Invalid":     {reason: "The same object is invalid again.", err: apierrors.NewInvalid(schema.GroupKind{Kind: "Bar"}, "x", nil), refusal: true},
		"TooLarge":    {reason: "The same object is too large again.", err: apierrors.NewRequestEntityTooLargeError("limit is 3"), refusal: true},
		"Store":       {reason: "The store has words of its own for that.", err: apierrors.NewInternalError(errors.New("etcdserver: request is too large")), refusal: true},
		"Conflict":    {reason: "The cache lags behind.", err: apierrors.NewConflict(bars, "x", errors.New("changed"))},
		"Passing":     {reason: "A busy API server is one later.", err: apierrors.NewServiceUnavailable("busy")},
		"Timeout":     {reason: "So is a slow one.", err: &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if IsRefusal(tc.err) != tc.refusal || LacksRight(tc.err) != tc.right {
				t.Errorf("%s\nrefusal %v, lacks a right %v", tc.reason, IsRefusal(tc.err), LacksRight(tc.err))
			}
			suspected := false
			result, err := Outcome(reconcile.Result{RequeueAfter: time.Hour}, tc.err, func() { suspected = true })
			if suspected != tc.right || !errors.Is(err, tc.err) || result.RequeueAfter != time.Hour {
				t.Errorf("%s\noutcome %v, %v, suspected %v", tc.reason, result, err, suspected)
			}
		})
	}
}

func TestLacksRightIn(t *testing.T) {
	refused := func(resource, group, scope string) error {
		return apierrors.NewForbidden(bars, "x", fmt.Errorf("User %q cannot get resource %q in API group %q %s", `a" cannot \`, resource, group, scope))
	}
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"None":        {reason: "No error is in no namespace."},
		"Namespaced":  {reason: "The authorizer names the namespace.", err: refused("bars", "controlee.dev", `in the namespace "n"`), want: "n"},
		"Subresource": {reason: "The same goes for a subresource.", err: refused("bars/status", "controlee.dev", `in the namespace "n"`), want: "n"},
		"Wrapped":     {reason: "What a caller adds in front hides nothing.", err: fmt.Errorf("Service: %w", refused("services", "", `in the namespace "n"`)), want: "n"},
		"Cluster":     {reason: "A right at cluster scope is in no namespace.", err: refused("barclasses", "controlee.dev", "at the cluster scope")},
		"Why":         {reason: "What RBAC adds is not the authorizer's sentence.", err: refused("barclasses", "controlee.dev", `at the cluster scope: in the namespace "n"`)},
		"Namespace":   {reason: "The API server takes a Namespace for an object in itself.", err: refused("namespaces", "", `in the namespace "n"`)},
		"Finalize":    {reason: "So with its subresources.", err: refused("namespaces/finalize", "", `in the namespace "n"`)},
		"Other":       {reason: "Another API group may have a kind of that name.", err: refused("namespaces", "example.com", `in the namespace "n"`), want: "n"},
		"Policy": {
			reason: "A policy may say the same sentence.",
			err:    apierrors.NewForbidden(bars, "x", errors.New(`ValidatingAdmissionPolicy 'p' denied request: User "u" cannot get resource "bars" in API group "" in the namespace "n"`)),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := LacksRightIn(tc.err); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
