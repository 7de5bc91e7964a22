package claim

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
)

func TestUntold(t *testing.T) {
	full := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web",
		field.ErrorList{field.TooLong(field.NewPath("metadata", "annotations"), "", 262144)})
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "web", errors.New("no more "+strings.Repeat("x", 5000)))
	cases := map[string]struct {
		reason string
		err    error
		state  string
		want   []string
	}{
		"Full":   {reason: "The tenant can mend it.", err: full, state: "InvalidPorts: none", want: []string{"make room in metadata.annotations", "It would be: InvalidPorts: none"}},
		"Denied": {reason: "Others have words of their own, which do not hide the state.", err: denied, state: "Ready", want: []string{"no more xxx", "…. It would be: Ready"}},
		"Out":    {reason: "To say nothing can be refused as well.", err: denied, want: []string{"It would be: nothing"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := untold(news{state: tc.state}, tc.err)
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s\ngot %q, want %q in it", tc.reason, got, want)
				}
			}
		})
	}
}

func TestResultOf(t *testing.T) {
	cases := map[string]struct {
		reason  string
		refusal *refusal
		later   time.Duration
		want    time.Duration // at most a fifth less than it is looked at again; 0: it is not
	}{
		"Served":   {reason: "An event will tell."},
		"Ports":    {reason: "A change of the source is an event.", refusal: refuse(v1alpha1.ReasonInvalidPorts, "x")},
		"Quota":    {reason: "Room in a quota is none.", refusal: refuse(v1alpha1.ReasonRefused, "x"), want: retry.AfterRefusal},
		"Conflict": {reason: "The end of another source's Bar is none for this one.", refusal: refuse(v1alpha1.ReasonConflict, "x"), want: retry.AfterRefusal},
		"Later":    {reason: "The answer is held back for a while.", later: time.Second, want: time.Second},
		"Both":     {reason: "The sooner one counts.", refusal: refuse(v1alpha1.ReasonRefused, "x"), later: time.Second, want: time.Second},
	}
	for name, tc := range cases {
		if got := resultOf(tc.refusal, tc.later).RequeueAfter; got < tc.want || got > tc.want*6/5 {
			t.Errorf("%s: %s\ngot %s", name, tc.reason, got)
		}
	}
}
