package bar

import (
	"fmt"
	"strings"
	"testing"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// A missing right on a kind that the class needs is told, and looked for again: no event says that it has come.
func TestADeniedKindIsARefusal(t *testing.T) {
	denied := &tenancy.AccessDeniedError{Namespace: "team-a", Verb: "list", Resource: "httproutes.gateway.networking.k8s.io", Optional: true}
	refusal, err := refusalOf(fmt.Errorf("read: %w", denied))
	if err != nil || refusal == nil || refusal.Reason != v1alpha1.ReasonAccessDenied || refusal.After != retry.AfterRefusal {
		t.Fatalf("got %+v, %v", refusal, err)
	}
	if !strings.Contains(refusal.Message, "may not list httproutes.gateway.networking.k8s.io in namespace team-a: the ClusterRole controlee-operator-tenant lacks that right") {
		t.Errorf("message %q", refusal.Message)
	}
}
