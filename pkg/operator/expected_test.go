package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestExpectedErrors(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Group: "events.k8s.io", Resource: "events"}, "web", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	lacking := func(resource, scope string) *apierrors.StatusError {
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "web",
			fmt.Errorf(`User "system:serviceaccount:controlee-system:controlee" cannot patch resource %q in API group "" %s`, resource, scope))
	}
	denied := lacking("deployments", `in the namespace "x"`)
	path := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(`User "u in the namespace \"x\"" cannot get path "/version"`))
	quota := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "web", errors.New("exceeded quota"))
	refused := apierrors.NewInternalError(errors.New("it broke"))
	cases := map[string]struct {
		reason string
		err    error
		msg    string
		want   bool
	}{
		"End":             {reason: "A SIGTERM ends requests that are under way.", err: fmt.Errorf("get: %w", context.Canceled), msg: "Error retrieving lease lock", want: true},
		"Timeout":         {reason: "A deadline that passed is a fault.", err: context.DeadlineExceeded, msg: "Error retrieving lease lock"},
		"Released":        {reason: "A leader releases its Lease at the end.", err: errors.New("leader election lost"), msg: "error received after stop sequence was engaged", want: true},
		"Lost":            {reason: "Another word of the manager at the end is a fault.", err: errors.New("it broke"), msg: "error received after stop sequence was engaged"},
		"EventTooLate":    {reason: "A namespace that goes takes no Events.", err: terminating, msg: "Server rejected event (will not retry!)", want: true},
		"EventRefused":    {reason: "An Event that is refused otherwise is a fault.", err: refused, msg: "Server rejected event (will not retry!)"},
		"RightLost":       {reason: "A RoleBinding goes with its namespace.", err: fmt.Errorf("patch: %w", denied), msg: "Reconciler error", want: true},
		"RightLostWhy":    {reason: "RBAC may add what is wrong.", err: lacking("deployments", `in the namespace "x": RBAC: role.rbac.authorization.k8s.io "r" not found`), msg: "Reconciler error", want: true},
		"SystemRight":     {reason: "A right in the system namespace is no Tenant's: nobody else reports it.", err: lacking("bars", `in the namespace "controlee-system"`), msg: "Reconciler error"},
		"SystemRightWhy":  {reason: "What RBAC adds does not change that.", err: lacking("bars", `in the namespace "controlee-system": RBAC: the role in the namespace "x" is missing`), msg: "Reconciler error"},
		"ClusterRight":    {reason: "The same goes for a right in the whole cluster.", err: lacking("barclasses", "at the cluster scope"), msg: "Reconciler error"},
		"NamespaceRight":  {reason: "To read a Namespace is a right in the whole cluster, although its refusal names the namespace.", err: lacking("namespaces", `in the namespace "x"`), msg: "Reconciler error"},
		"Path":            {reason: "A path is in no namespace, whatever the user's name says.", err: path, msg: "Reconciler error"},
		"EventLost":       {reason: "Events of a tenant's objects go with the RoleBinding.", err: lacking("events", `in the namespace "x"`), msg: "Server rejected event (will not retry!)", want: true},
		"SystemEvent":     {reason: "Events of Bars do not.", err: lacking("events", `in the namespace "controlee-system"`), msg: "Server rejected event (will not retry!)"},
		"Quota":           {reason: "What an admission plugin refuses is a condition, and else a fault.", err: quota, msg: "Reconciler error"},
		"OtherMessage":    {reason: "A missing right outside of a tenant's namespace is a fault.", err: denied, msg: "Failed to watch"},
		"ReconcileBroken": {reason: "A reconcile that fails is a fault.", err: refused, msg: "Reconciler error"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var lines []string
			log := lowerExpected(funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{LogCaller: funcr.All}), "controlee-system")
			log.WithName("x").WithValues("a", 1).Error(tc.err, tc.msg, "key", "value")
			if len(lines) != 1 || !strings.Contains(lines[0], `"key"="value"`) || !strings.Contains(lines[0], `"error"="`) || !strings.Contains(lines[0], "expected_test.go") {
				t.Fatalf("logged %q", lines)
			}
			if got := strings.Contains(lines[0], `"level"=0`); got != tc.want {
				t.Errorf("%s\nlogged %s", tc.reason, lines[0])
			}
		})
	}
	if (expectedSink{}).isExpected(nil, "x") || http.StatusForbidden != denied.ErrStatus.Code {
		t.Error("no error is none that is expected")
	}
}
