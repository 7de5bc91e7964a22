package leader

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestIsFenced(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	policy := func(name string) error {
		return apierrors.NewForbidden(deployments, "web", errors.New("ValidatingAdmissionPolicy '"+name+"' with binding '"+name+"' denied request: no"))
	}
	cases := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"None":     {reason: "No error is no refusal.", err: nil},
		"Records":  {reason: "The policy for what only the operator writes.", err: policy("controlee-fenced"), want: true},
		"Objects":  {reason: "The policy for what others write, too.", err: policy("controlee-fenced-objects"), want: true},
		"Another":  {reason: "A refusal by another policy is about the object.", err: policy("controlee-bars-locked")},
		"Quota":    {reason: "So is one by quota.", err: apierrors.NewForbidden(deployments, "web", errors.New("exceeded quota"))},
		"NoStatus": {reason: "Words alone, not the API server's, prove nothing.", err: errors.New(refusalMark)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := IsFenced(tc.err); got != tc.want {
				t.Errorf("%s\n%v: got %t", tc.reason, tc.err, got)
			}
		})
	}
}
