package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// BarClasses of the tests of what Bars become.
const (
	publicClass = "test-public" // load balancers
	webClass    = "test-web"    // HTTPRoutes
	tcpClass    = "test-tcp"    // TCPRoutes
	tlsClass    = "test-tls"    // TLSRoutes, whose CRD comes late
)

// barClassNames are those that the values must name.
func barClassNames() []any {
	return []any{publicClass, webClass, tcpClass, tlsClass}
}

// barTenants are those whose Bars become more than a Service within the cluster.
func barTenants() []map[string]any {
	bars := newTenant("bars", "bar-gateway", "bar-public", "bar-host", "bar-late", "bar-rights")
	rivals := newTenant("rivals", "bar-rival")
	for _, tenant := range []map[string]any{bars, rivals} {
		tenant["allowedBarClasses"] = append(barClassNames(), internalClass)
	}
	return []map[string]any{bars, rivals}
}

// needBarClasses makes the BarClasses, once for all tests.
func needBarClasses(t *testing.T) {
	t.Helper()
	route := func(kind v1alpha1.RouteKind, template string) v1alpha1.BarProvider {
		return v1alpha1.BarProvider{Type: v1alpha1.GatewayProvider, Gateway: &v1alpha1.GatewayProviderSpec{
			ParentRef: v1alpha1.GatewayReference{Namespace: "infra", Name: "public"}, RouteKind: kind, HostnameTemplate: template,
		}}
	}
	for name, settings := range map[string]v1alpha1.BarProvider{
		publicClass: {Type: v1alpha1.ServiceProvider, Service: &v1alpha1.ServiceProviderSpec{Type: corev1.ServiceTypeLoadBalancer}},
		webClass:    route(v1alpha1.HTTPRouteKind, "{name}.apps.example.com"),
		tcpClass:    route(v1alpha1.TCPRouteKind, ""),
		tlsClass:    route(v1alpha1.TLSRouteKind, "{name}.{namespace}.tls.example.com"),
	} {
		class := &v1alpha1.BarClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.BarClassSpec{
			Provider: settings, ReleaseGracePeriodSeconds: ptr.To[int32](0),
		}}
		if err := admin.Create(t.Context(), class); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// waitClass waits until the condition Ready of a BarClass has a status and reason ("True/Usable").
func waitClass(t *testing.T, name, want string, limit time.Duration) *metav1.Condition {
	t.Helper()
	class := &v1alpha1.BarClass{}
	var ready *metav1.Condition
	eventually(t, limit, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKey{Name: name}, class); err != nil {
			return err
		}
		ready = meta.FindStatusCondition(class.Status.Conditions, v1alpha1.BarClassReady)
		if ready == nil || string(ready.Status)+"/"+ready.Reason != want || ready.ObservedGeneration != class.Generation {
			return fmt.Errorf("BarClass %s: %+v, want %s", name, class.Status, want)
		}
		return nil
	})
	return ready
}

// waitRoute waits for the one route of a source's Bar.
func waitRoute(t *testing.T, source client.Object, kind v1alpha1.RouteKind) *unstructured.Unstructured {
	t.Helper()
	list := routeList(kind)
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.List(ctx, list, client.InNamespace(source.GetNamespace()), client.MatchingLabels{v1alpha1.BarLabel: barKey(source).Name}); err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("%d routes of %s", len(list.Items), source.GetName())
		}
		return nil
	})
	return &list.Items[0]
}

func routeList(kind v1alpha1.RouteKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("gateway.networking.k8s.io/v1")
	list.SetKind(string(kind) + "List")
	return list
}

// answerRoute writes the status of a route as the controller of its Gateway does.
func answerRoute(t *testing.T, route *unstructured.Unstructured, status metav1.ConditionStatus, reason, message string) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
			return err
		}
		parents := []any{map[string]any{
			"controllerName": "example.com/gateway",
			"parentRef":      map[string]any{"namespace": "infra", "name": "public"},
			"conditions": []any{map[string]any{
				"type": "Accepted", "status": string(status), "reason": reason, "message": message,
				"observedGeneration": route.GetGeneration(), "lastTransitionTime": "2030-01-01T00:00:00Z",
			}},
		}}
		if err := unstructured.SetNestedSlice(route.Object, parents, "status", "parents"); err != nil {
			return err
		}
		return admin.Status().Update(ctx, route)
	})
}

// answerService gives the load balancer of a source's Bar an address, as a cloud's controller does, and gives its Service.
func answerService(t *testing.T, source client.Object, ip string) *corev1.Service {
	t.Helper()
	services := &corev1.ServiceList{}
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.List(ctx, services, client.InNamespace(source.GetNamespace()), client.MatchingLabels{v1alpha1.BarLabel: barKey(source).Name}); err != nil {
			return err
		}
		if len(services.Items) != 1 || services.Items[0].Spec.Type != corev1.ServiceTypeLoadBalancer {
			return fmt.Errorf("Services %+v", services.Items)
		}
		services.Items[0].Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}}
		return admin.Status().Update(ctx, &services.Items[0])
	})
	return &services.Items[0]
}

// waitAddress waits for the address on a source.
func waitAddress(t *testing.T, source client.Object, want string) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
			return err
		}
		if got := source.GetAnnotations()[v1alpha1.BarAddressAnnotation]; got != want {
			return fmt.Errorf("the address of %s is %q, want %q", source.GetName(), got, want)
		}
		return nil
	})
}

// useBarRights makes the operator use each right that it has for what providers make.
func useBarRights(t *testing.T) {
	t.Helper()
	needBarClasses(t)
	if err := shared.InstallGatewayAPI(t.Context(), "tlsroutes"); err != nil {
		t.Fatal(err)
	}
	waitClass(t, tlsClass, "True/"+v1alpha1.ReasonClassReady, 90*time.Second)
	for class, kind := range map[string]v1alpha1.RouteKind{
		webClass: v1alpha1.HTTPRouteKind, tcpClass: v1alpha1.TCPRouteKind, tlsClass: v1alpha1.TLSRouteKind,
	} {
		deployment := newDeployment("bar-rights", class, class)
		create(t, deployment)
		route := waitRoute(t, deployment, kind)
		answerRoute(t, route, metav1.ConditionTrue, "Accepted", "")
		waitState(t, deployment, string(v1alpha1.PhaseReady))
		// Not by deleting it: garbage collection could be faster than the operator.
		change(t, deployment, func(d *appsv1.Deployment) { askFor(d, "") })
		waitGone(t, route)
		waitUnexposed(t, deployment)
	}
}
