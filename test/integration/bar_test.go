package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// An annotation on a Deployment gives a route with a host name; what the Gateway says of it reaches the tenant.
func TestDeploymentBecomesARoute(t *testing.T) {
	needBarClasses(t)
	waitClass(t, webClass, "True/"+v1alpha1.ReasonClassReady, wait)
	deployment := newDeployment("bar-gateway", "shop", webClass)
	create(t, deployment)
	route := waitRoute(t, deployment, v1alpha1.HTTPRouteKind)
	waitState(t, deployment, "Provisioning: waiting for the controller of Gateway infra/public to take the route")
	answerRoute(t, route, metav1.ConditionFalse, "NotAllowedByListeners", "this namespace may not")
	waitState(t, deployment, "Provisioning: Gateway infra/public does not take the route: NotAllowedByListeners: this namespace may not")
	answerRoute(t, route, metav1.ConditionTrue, "Accepted", "")
	waitState(t, deployment, string(v1alpha1.PhaseReady))
	waitAddress(t, deployment, "shop.apps.example.com")

	services := &corev1.ServiceList{}
	if err := admin.List(t.Context(), services, client.InNamespace("bar-gateway"), client.MatchingLabels{v1alpha1.BarLabel: barKey(deployment).Name}); err != nil {
		t.Fatal(err)
	}
	if len(services.Items) != 1 || !metav1.IsControlledBy(&services.Items[0], deployment) || services.Items[0].Spec.Type != corev1.ServiceTypeClusterIP {
		t.Errorf("Services %+v", services.Items)
	}
	if !metav1.IsControlledBy(route, deployment) {
		t.Errorf("the route is not the Deployment's: %+v", route.GetOwnerReferences())
	}
	assertQuiet(t, 3*time.Second)

	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, "") })
	waitGone(t, route)
	waitUnexposed(t, deployment)
}

// A route has one port: which one of several the tenant is asked.
func TestRouteNeedsOnePort(t *testing.T) {
	needBarClasses(t)
	deployment := newDeployment("bar-gateway", "ports", webClass, func(d *appsv1.Deployment) {
		container := &d.Spec.Template.Spec.Containers[0]
		container.Ports = append(container.Ports, corev1.ContainerPort{Name: "admin", ContainerPort: 9090})
	})
	create(t, deployment)
	waitState(t, deployment, fmt.Sprintf("Failed: BarClass %q serves one port and there are 2: set the annotation %s", webClass, v1alpha1.BarPortAnnotation))
	change(t, deployment, func(d *appsv1.Deployment) { d.Annotations[v1alpha1.BarPortAnnotation] = "http" })
	answerRoute(t, waitRoute(t, deployment, v1alpha1.HTTPRouteKind), metav1.ConditionTrue, "Accepted", "")
	waitState(t, deployment, string(v1alpha1.PhaseReady))
}

// A load balancer waits for its address. When its class changes, the new one is there and ready before the old one goes.
func TestClassChangeWithoutGap(t *testing.T) {
	needBarClasses(t)
	deployment := newDeployment("bar-public", "shop", internalClass)
	create(t, deployment)
	_, old := waitExposed(t, deployment)
	since := time.Now()
	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, publicClass) })
	waitState(t, deployment, "Provisioning: waiting until the cluster's load balancer controller gives Service")
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(old), old); err != nil {
		t.Fatalf("the old Service is gone before the new one is ready: %v", err)
	}
	waitAddress(t, deployment, old.Spec.ClusterIP)

	services := &corev1.ServiceList{}
	if err := admin.List(t.Context(), services, client.InNamespace("bar-public"), client.MatchingLabels{v1alpha1.BarLabel: barKey(deployment).Name}); err != nil {
		t.Fatal(err)
	}
	index := slices.IndexFunc(services.Items, func(s corev1.Service) bool { return s.Name != old.Name })
	fresh := &services.Items[index]
	fresh.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.7"}}
	if err := admin.Status().Update(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	waitAddress(t, deployment, "203.0.113.7")
	waitGone(t, old)
	waitState(t, deployment, string(v1alpha1.PhaseReady))

	// What the operator did, in order: the intent, the new Service, the new address with the second intent, the old Service.
	var steps []string
	for _, e := range operatorRequests(t, since) {
		object := e.Object()
		switch {
		case object.Resource == "services" && object.Name == fresh.Name && e.Verb == "patch":
			steps = append(steps, "make the new one")
		case object.Resource == "services" && object.Name == old.Name && e.Verb == "delete":
			steps = append(steps, "delete the old one")
		case object.Resource == "bars" && object.Subresource == "status" && object.Name == barKey(deployment).Name && e.Code() == 200:
			steps = append(steps, "record")
		}
	}
	made, deleted := slices.Index(steps, "make the new one"), slices.Index(steps, "delete the old one")
	if made < 1 || steps[made-1] != "record" || deleted < made || steps[deleted-1] != "record" {
		t.Errorf("steps %q", steps)
	}
}

// A change of a class reaches what exists.
func TestClassSettingsChange(t *testing.T) {
	needBarClasses(t)
	deployment := newDeployment("bar-public", "settings", publicClass)
	create(t, deployment)
	service := answerService(t, deployment, "203.0.113.8")
	waitAddress(t, deployment, "203.0.113.8")
	class := &v1alpha1.BarClass{ObjectMeta: metav1.ObjectMeta{Name: publicClass}}
	change(t, class, func(c *v1alpha1.BarClass) {
		c.Spec.Provider.Service.Annotations = map[string]string{"example.com/pool": "b"}
		c.Spec.Provider.Service.SourceRanges = []string{"192.0.2.0/24"}
	})
	t.Cleanup(func() {
		change(t, class, func(c *v1alpha1.BarClass) {
			c.Spec.Provider.Service.Annotations, c.Spec.Provider.Service.SourceRanges = nil, nil
		})
	})
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
			return err
		}
		if service.Annotations["example.com/pool"] != "b" || !slices.Equal(service.Spec.LoadBalancerSourceRanges, []string{"192.0.2.0/24"}) {
			return fmt.Errorf("Service %+v", service)
		}
		return nil
	})
}

// Two tenants ask for one host name: the first keeps it, the other is told, and gets it when it is free.
func TestHostnameOfAnotherTenant(t *testing.T) {
	needBarClasses(t)
	first := newDeployment("bar-host", "fought-over", webClass)
	create(t, first)
	answerRoute(t, waitRoute(t, first, v1alpha1.HTTPRouteKind), metav1.ConditionTrue, "Accepted", "")
	waitAddress(t, first, "fought-over.apps.example.com")
	second := newDeployment("bar-rival", "fought-over", webClass)
	create(t, second)
	waitState(t, second, "Failed: the host name fought-over.apps.example.com belongs to another load balancer")
	if state := second.Annotations[v1alpha1.BarStateAnnotation]; strings.Contains(state, "bar-host") {
		t.Errorf("a tenant is told of another: %q", state)
	}
	since := time.Now()
	if err := admin.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	answerRoute(t, waitRoute(t, second, v1alpha1.HTTPRouteKind), metav1.ConditionTrue, "Accepted", "")
	waitAddress(t, second, "fought-over.apps.example.com")
	t.Logf("the host name went over within %s", time.Since(since).Round(time.Millisecond))
}

// A BarClass says that the cluster lacks a CRD. When it is installed the class can be used within a minute, without a restart.
func TestGatewayAPIArrivesLater(t *testing.T) {
	needBarClasses(t)
	before := processes()
	ready := waitClass(t, tlsClass, "False/"+v1alpha1.ReasonKindNotInstalled, wait)
	if !strings.Contains(ready.Message, "no kind TLSRoute of group gateway.networking.k8s.io") {
		t.Errorf("message %q", ready.Message)
	}
	deployment := newDeployment("bar-late", "shop", tlsClass)
	create(t, deployment)
	waitState(t, deployment, "Failed: the cluster has no kind TLSRoute")

	since := time.Now()
	if err := shared.InstallGatewayAPI(t.Context(), "tlsroutes"); err != nil {
		t.Fatal(err)
	}
	waitClass(t, tlsClass, "True/"+v1alpha1.ReasonClassReady, 90*time.Second)
	answerRoute(t, waitRoute(t, deployment, v1alpha1.TLSRouteKind), metav1.ConditionTrue, "Accepted", "")
	waitAddress(t, deployment, "shop.bar-late.tls.example.com")
	if took := time.Since(since); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	if after := processes(); !slices.Equal(before, after) {
		t.Errorf("operator processes changed: %v before, %v after", before, after)
	}
	// A route that somebody deletes is seen by the watch that began late.
	route := waitRoute(t, deployment, v1alpha1.TLSRouteKind)
	config, err := shared.UserConfig("emergency", "system:masters", breakGlassGroup)
	if err != nil {
		t.Fatal(err)
	}
	breakGlass, err := newClient(config)
	if err != nil {
		t.Fatal(err)
	}
	old := route.GetUID()
	if err := breakGlass.Delete(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	eventually(t, wait, func(ctx context.Context) error {
		err := admin.Get(ctx, client.ObjectKeyFromObject(route), route)
		if apierrors.IsNotFound(err) || (err == nil && route.GetUID() == old) {
			return fmt.Errorf("the route has not come back: %w", err)
		}
		return err
	})
}
