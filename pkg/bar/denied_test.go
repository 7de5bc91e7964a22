package bar

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// A missing right on a kind that the class needs is told, and looked for again: no event says that
// it has come.
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

// withoutRoutes is a client that may not read or delete HTTPRoutes, and counts the attempts.
func withoutRoutes(attempts *int) client.Client {
	refuse := func(object client.Object) error {
		if object.GetObjectKind().GroupVersionKind().Kind != routeKind.Kind {
			return nil
		}
		*attempts++
		resource := schema.GroupResource{Group: routeKind.Group, Resource: "httproutes"}
		return apierrors.NewForbidden(resource, object.GetName(), errors.New("not allowed"))
	}
	return interceptor.NewClient(server, interceptor.Funcs{
		Get: func(ctx context.Context, through client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			return errors.Join(refuse(object), through.Get(ctx, key, object, opts...))
		},
		Delete: func(ctx context.Context, through client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			if err := refuse(object); err != nil {
				return err
			}
			return through.Delete(ctx, object, opts...)
		},
	})
}

// deniesRoutes is what a namespace answers that is served without HTTPRoutes.
func deniesRoutes(kind schema.GroupKind) error {
	if kind != routeKind.GroupKind() {
		return nil
	}
	return &tenancy.AccessDeniedError{Namespace: "n", Verb: "list", Resource: "httproutes.gateway.networking.k8s.io", Optional: true}
}

// A load balancer that is ready is reported as ready, although the one that it replaces cannot be
// deleted.
func TestOldObjectCannotBeDeleted(t *testing.T) {
	cases := map[string]struct {
		reason  string
		known   bool // whether the registry has noticed that the right is missing
		message string
	}{
		"unnoticed": {reason: "The right is missing since a moment ago: the error is returned, so that the access is checked again."},
		"noticed": {
			reason: "The registry says what is missing: nothing is tried in vain.", known: true,
			message: "cannot be deleted: the operator may not list httproutes.gateway.networking.k8s.io in namespace n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			namespace := newNamespace(t, "undeletable-"+name)
			bar := newBar(t, namespace, "web", "web")
			settle(t, newReconciler(server), bar)
			playGateway(t, namespace, metav1.ConditionTrue, "Accepted", "")
			settle(t, newReconciler(server), bar)
			expect(t, bar, v1alpha1.PhaseReady, v1alpha1.ReasonProvisioned)

			change(t, bar, toClass("internal"))
			attempts := 0
			r := newReconciler(withoutRoutes(&attempts))
			if tc.known {
				r.Namespaces = namespaces{omitted: deniesRoutes}
			}
			result, err := r.Reconcile(t.Context(), requestFor(bar))
			expect(t, bar, v1alpha1.PhaseReady, v1alpha1.ReasonProvisioned)
			ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady)
			if !strings.Contains(ready.Message, tc.message) || ready.Status != metav1.ConditionTrue {
				t.Errorf("%s\ncondition %+v", tc.reason, ready)
			}
			if len(bar.Status.Targets) != 2 || len(routes(t, namespace)) != 1 {
				t.Errorf("the route that is left is forgotten: %+v", bar.Status.Targets)
			}
			if !tc.known {
				if !apierrors.IsForbidden(err) {
					t.Errorf("%s\ngot %v", tc.reason, err)
				}
				return
			}
			if err != nil || result.RequeueAfter < refusedAtLeast || attempts != 0 {
				t.Errorf("%s\ngot %+v, %v, %d attempts", tc.reason, result, err, attempts)
			}
			before := bar.ResourceVersion
			if err := reconcileOnce(r, bar); err != nil || !reload(t, bar) || bar.ResourceVersion != before {
				t.Errorf("the status changes although nothing does: %v", err)
			}

			change(t, bar, released)
			settle(t, r, bar)
			expect(t, bar, v1alpha1.PhaseReleasing, v1alpha1.ReasonAccessDenied)
			ready = meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady)
			route := routes(t, namespace)[0]
			if want := "HTTPRoute " + route.GetName() + " " + tc.message; !strings.HasPrefix(ready.Message, want) {
				t.Errorf("the Bar reports %q, want %q", ready.Message, want)
			}
			if len(services(t, namespace)) != 0 || attempts != 0 {
				t.Errorf("the Service is left, or the route was tried %d times", attempts)
			}
			result, err = r.Reconcile(t.Context(), requestFor(bar))
			if err != nil || result.RequeueAfter < refusedAtLeast {
				t.Errorf("got %+v, %v", result, err)
			}
			settle(t, newReconciler(server), bar)
			if reload(t, bar) || len(routes(t, namespace)) != 0 {
				t.Errorf("the right is back, and something is left: %+v", bar.Status)
			}
		})
	}
}

// A released Bar reports what a policy does not let it delete.
func TestReleaseRefused(t *testing.T) {
	namespace := newNamespace(t, "release-refused")
	bar := newBar(t, namespace, "web", "internal")
	settle(t, newReconciler(server), bar)
	change(t, bar, released)
	r := newReconciler(interceptor.NewClient(server, interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "web", errors.New("policy keep-services denied the request"))
		},
	}))
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseReleasing, v1alpha1.ReasonRefused)
	if ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady); !strings.Contains(ready.Message, "policy keep-services denied the request") {
		t.Errorf("the Bar reports %q", ready.Message)
	}
	settle(t, newReconciler(server), bar)
	if reload(t, bar) {
		t.Errorf("the Bar is left: %+v", bar.Status)
	}
}
