package docs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/try"
)

const wait = 90 * time.Second

// newDeployment is an ordinary workload that asks for a load balancer.
func newDeployment(namespace, name, class string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{v1alpha1.BarClassAnnotation: class}},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1000),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name: "web", Image: "registry.example/web:1", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
						SecurityContext: &corev1.SecurityContext{
							AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
					}},
				},
			},
		},
	}
}

// newService asks for a load balancer by its class.
func newService(namespace, name, class string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To(v1alpha1.LoadBalancerClassPrefix + class),
			AllocateLoadBalancerNodePorts: ptr.To(false),
			Selector:                      map[string]string{"app": name},
			Ports:                         []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
}

func create(t *testing.T, object client.Object) {
	t.Helper()
	if err := admin.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// barOf waits until a source has a load balancer that is ready, and gives its Bar.
func barOf(t *testing.T, source client.Object) *v1alpha1.Bar {
	t.Helper()
	var found *v1alpha1.Bar
	try.Until(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
			return err
		}
		bars, err := barsIn(ctx, source.GetNamespace())
		if err != nil {
			return err
		}
		for i := range bars {
			bar := &bars[i]
			if bar.Spec.SourceRef.UID == source.GetUID() && bar.Status.Phase == v1alpha1.PhaseReady && len(bar.Status.Addresses) > 0 &&
				source.GetAnnotations()[v1alpha1.BarAddressAnnotation] == bar.Status.Addresses[0].Value {
				found = bar
				return nil
			}
		}
		return fmt.Errorf("no Bar of %s/%s is ready: %v %+v", source.GetNamespace(), source.GetName(), source.GetAnnotations(), bars)
	})
	return found
}

// barsIn lists the Bars of a tenant's namespace.
func barsIn(ctx context.Context, namespace string) ([]v1alpha1.Bar, error) {
	bars := &v1alpha1.BarList{}
	err := admin.List(ctx, bars, client.InNamespace(systemNamespace), client.MatchingLabels{v1alpha1.SourceNamespaceLabel: namespace})
	return bars.Items, err
}

// routesIn counts the routes of Bars in a tenant's namespace.
func routesIn(ctx context.Context, namespace string) (int, error) {
	routes := &unstructured.UnstructuredList{}
	routes.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRouteList"})
	err := admin.List(ctx, routes, client.InNamespace(namespace), client.HasLabels{v1alpha1.BarLabel})
	return len(routes.Items), err
}

// keeps checks that a load balancer is the one that it was.
func keeps(t *testing.T, source client.Object, before *v1alpha1.Bar) *v1alpha1.Bar {
	t.Helper()
	after := barOf(t, source)
	if after.UID != before.UID || after.Status.Addresses[0] != before.Status.Addresses[0] {
		t.Errorf("Bar %s with %v became %s with %v", before.UID, before.Status.Addresses, after.UID, after.Status.Addresses)
	}
	return after
}

// nothingLeft checks that nothing of the operator's load balancers is in a namespace, nor recorded
// for it.
func nothingLeft(t *testing.T, namespace string) {
	t.Helper()
	try.Until(t, wait, func(ctx context.Context) error {
		bars, err := barsIn(ctx, namespace)
		if err != nil || len(bars) > 0 {
			return fmt.Errorf("%d Bars (%w)", len(bars), err)
		}
		services := &corev1.ServiceList{}
		if err := admin.List(ctx, services, client.InNamespace(namespace)); err != nil {
			return err
		}
		deployments := &appsv1.DeploymentList{}
		if err := admin.List(ctx, deployments, client.InNamespace(namespace)); err != nil {
			return err
		}
		var found []error
		sources := make([]client.Object, 0, len(services.Items)+len(deployments.Items))
		for i := range services.Items {
			service := &services.Items[i]
			if _, made := service.Labels[v1alpha1.BarLabel]; made {
				found = append(found, fmt.Errorf("Service %s of a Bar", service.Name))
			}
			if len(service.Status.LoadBalancer.Ingress) > 0 {
				found = append(found, fmt.Errorf("Service %s has an address in its status", service.Name))
			}
			sources = append(sources, service)
		}
		for i := range deployments.Items {
			sources = append(sources, &deployments.Items[i])
		}
		for _, source := range sources {
			for key := range source.GetAnnotations() {
				if key == v1alpha1.BarStateAnnotation || key == v1alpha1.BarAddressAnnotation {
					found = append(found, fmt.Errorf("annotation %s on %s", key, source.GetName()))
				}
			}
		}
		return errors.Join(found...)
	})
}

// state waits until the state on a source begins as wanted.
func state(t *testing.T, source client.Object, want string) {
	t.Helper()
	try.Until(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
			return err
		}
		if got := source.GetAnnotations()[v1alpha1.BarStateAnnotation]; !strings.HasPrefix(got, want) {
			return fmt.Errorf("the state of %s is %q, want %q", source.GetName(), got, want)
		}
		return nil
	})
}

// exists says whether an object is there.
func exists(t *testing.T, object client.Object) bool {
	t.Helper()
	err := admin.Get(t.Context(), client.ObjectKeyFromObject(object), object)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
