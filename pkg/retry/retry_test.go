package retry

import (
	"errors"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var bars = schema.GroupResource{Group: "controlee.dev", Resource: "bars"}

func TestErrors(t *testing.T) {
	cases := map[string]struct {
		reason  string
		err     error
		refusal bool
		right   bool // lacks it
		soon    bool
	}{
		"None":     {reason: "No error is no refusal."},
		"Quota":    {reason: "Quota answers like the authorizer, but can be mended by the tenant.", err: apierrors.NewForbidden(bars, "x", errors.New("exceeded quota: q")), refusal: true},
		"Right":    {reason: "Only the authorizer says who cannot do what.", err: apierrors.NewForbidden(bars, "x", errors.New(`User "u" cannot create resource "bars"`)), right: true},
		"Invalid":  {reason: "The same object is invalid again.", err: apierrors.NewInvalid(schema.GroupKind{Kind: "Bar"}, "x", nil), refusal: true},
		"TooLarge": {reason: "The same object is too large again.", err: apierrors.NewRequestEntityTooLargeError("limit is 3"), refusal: true},
		"Store":    {reason: "The store has words of its own for that.", err: apierrors.NewInternalError(errors.New("etcdserver: request is too large")), refusal: true},
		"Conflict": {reason: "The cache lags behind.", err: apierrors.NewConflict(bars, "x", errors.New("changed")), soon: true},
		"Passing":  {reason: "A busy API server is one later.", err: apierrors.NewServiceUnavailable("busy")},
		"Timeout":  {reason: "So is a slow one.", err: &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if IsRefusal(tc.err) != tc.refusal || LacksRight(tc.err) != tc.right {
				t.Errorf("%s\nrefusal %v, lacks a right %v", tc.reason, IsRefusal(tc.err), LacksRight(tc.err))
			}
			suspected := false
			result, err := Outcome(reconcile.Result{RequeueAfter: time.Hour}, tc.err, func() { suspected = true })
			if suspected != tc.right || tc.soon && (err != nil || result.RequeueAfter > time.Second) || !tc.soon && (!errors.Is(err, tc.err) || result.RequeueAfter != time.Hour) {
				t.Errorf("%s\noutcome %v, %v, suspected %v", tc.reason, result, err, suspected)
			}
		})
	}
}

func TestRateLimiter(t *testing.T) {
	limiter := NewRateLimiter()
	one, other := reconcile.Request{}, reconcile.Request{}
	other.Name = "other"
	for delay := First; delay < Last; delay *= 2 {
		if got := limiter.When(one); got < delay || got > delay*6/5 {
			t.Fatalf("%s, want %s and up to a fifth more", got, delay)
		}
	}
	if got := limiter.When(one); got < Last || got > Last*6/5 {
		t.Errorf("%s, want at most about %s", got, Last)
	}
	if got := limiter.When(other); got > First*6/5 {
		t.Errorf("an object waits %s for another one's errors", got)
	}
}
