package barclass

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/tenancy"
)

func TestDesireStatus(t *testing.T) {
	lacking := &tenancy.NotInstalledError{LateKind: tenancy.LateKind{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Tunnel"}, Versions: []string{"v1"}}}
	cases := map[string]struct {
		reason  string
		problem error
		want    string // status and reason; empty: the problem says nothing about the class
		says    string
	}{
		"Usable":  {"Nothing stands against it.", nil, "True/Usable", "is there"},
		"Unknown": {"A newer CRD may know more types than this operator.", provider.Refuse(v1alpha1.ReasonProviderUnknown, "unknown"), "False/ProviderUnknown", "unknown"},
		"Lacking": {"The admin is told what to install, and how long it takes.", lacking, "False/KindNotInstalled", "no kind Tunnel of group example.com (v1): its CRD must be installed; within a minute"},
		"NotYet":  {"What is not known yet is tried again.", errors.New("not known yet"), "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			class := &v1alpha1.BarClass{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 2}}
			status, err := desireStatus(class, tc.problem)
			if tc.want == "" {
				if !errors.Is(err, tc.problem) {
					t.Errorf("%s\ngot %v", tc.reason, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			ready := status.Conditions[0]
			if string(ready.Status)+"/"+ready.Reason != tc.want || !strings.Contains(ready.Message, tc.says) || ready.ObservedGeneration != 2 || status.ObservedGeneration != 2 {
				t.Errorf("%s\ngot %+v", tc.reason, status)
			}
			class.Status = status
			again, err := desireStatus(class, tc.problem)
			if diff := cmp.Diff(status, again); diff != "" || err != nil {
				t.Errorf("written once, it would be written again: %v -first +second\n%s", err, diff)
			}
		})
	}
}
