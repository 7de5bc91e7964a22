package lifecycle

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/claim"
	"github.com/controlee/controlee/test/try"
)

// source is an object that asks for a load balancer, or does not.
type source struct {
	kind      v1alpha1.BarSourceKind // Service, Deployment or Foo
	class     string                 // that it asks for when it asks
	asks      bool
	disturbed time.Time // when something was last asked that may change its load balancer
}

// fooKind is the kind of a source whose Deployment, of the same name, asks for the load balancer.
const fooKind v1alpha1.BarSourceKind = "Foo"

// newSources returns the sources of each namespace. They have the same names in all namespaces, so
// that the host names have rivals.
func newSources(namespaces ...string) map[client.ObjectKey]*source {
	all := map[client.ObjectKey]*source{}
	for _, namespace := range namespaces {
		for name, s := range map[string]source{
			"pay":   {kind: v1alpha1.SourceService, class: webClass},
			"shop":  {kind: v1alpha1.SourceDeployment, class: webClass},
			"front": {kind: v1alpha1.SourceService, class: tenantClass},
			"db":    {kind: v1alpha1.SourceService, class: internalClass},
			"cache": {kind: v1alpha1.SourceDeployment, class: internalClass},
			"foo":   {kind: fooKind, class: internalClass},
		} {
			s.asks = true
			all[client.ObjectKey{Namespace: namespace, Name: name}] = &s
		}
	}
	return all
}

// hostOf returns the host name that a source asks for, "" without one.
func (w *world) hostOf(key client.ObjectKey) string {
	switch w.sources[key].class {
	case webClass:
		return key.Name + ".apps.example.com"
	case tenantClass:
		return key.Name + "." + w.holderOf(key.Namespace) + ".example.com"
	default:
		return ""
	}
}

// object is a source as the API server is to have it.
func (w *world) object(key client.ObjectKey) client.Object {
	s := w.sources[key]
	meta := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
	if s.asks && s.kind != fooKind {
		meta.Annotations = map[string]string{v1alpha1.BarClassAnnotation: s.class}
	}
	labels := map[string]string{"app": key.Name}
	switch s.kind {
	case fooKind:
		foo := &v1alpha1.Foo{ObjectMeta: meta, Spec: v1alpha1.FooSpec{
			Image: "registry.example/web:1", Replicas: ptr.To[int32](0), Ports: []v1alpha1.ContainerPort{{ContainerPort: 8080}},
		}}
		if s.asks {
			foo.Spec.Bar = &v1alpha1.FooBar{ClassName: s.class}
		}
		return foo
	case v1alpha1.SourceDeployment:
		return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "web", Image: "registry.example/web:1", Ports: []corev1.ContainerPort{{ContainerPort: 8080}},
				}}},
			},
		}}
	default:
		return &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
			Selector: labels, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
		}}
	}
}

// uid returns the UID of the object that a Bar of the source names: of a Foo it is that of its
// Deployment.
func (w *world) uid(ctx context.Context, key client.ObjectKey) (types.UID, error) {
	object := w.object(key)
	if err := admin.Get(ctx, key, object); err != nil || w.sources[key].kind != fooKind {
		return object.GetUID(), err
	}
	deployment := &appsv1.Deployment{}
	if err := admin.Get(ctx, key, deployment); err != nil {
		return "", err
	}
	if !metav1.IsControlledBy(deployment, object) {
		return "", fmt.Errorf("Deployment %s is of an earlier Foo", key)
	}
	return deployment.UID, nil
}

// barOf returns the name of the Bar of a source.
func (w *world) barOf(key client.ObjectKey) client.ObjectKey {
	kind := w.sources[key].kind
	if kind == fooKind {
		kind = v1alpha1.SourceDeployment
	}
	return client.ObjectKey{Namespace: systemNamespace, Name: claim.BarName(kind, key.Namespace, key.Name)}
}

// ask brings the request of a source in line with what it asks for.
func ask(t *testing.T, w *world, key client.ObjectKey) {
	t.Helper()
	try.Until(t, 30*time.Second, func(ctx context.Context) error {
		want, live := w.object(key), w.object(key)
		if err := admin.Get(ctx, key, live); err != nil {
			return err
		}
		if foo, ok := live.(*v1alpha1.Foo); ok {
			foo.Spec.Bar = nil
			if s := w.sources[key]; s.asks {
				foo.Spec.Bar = &v1alpha1.FooBar{ClassName: s.class}
			}
			return admin.Update(ctx, foo)
		}
		annotations := live.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		delete(annotations, v1alpha1.BarClassAnnotation)
		if class, asks := want.GetAnnotations()[v1alpha1.BarClassAnnotation]; asks {
			annotations[v1alpha1.BarClassAnnotation] = class
		}
		live.SetAnnotations(annotations)
		return admin.Update(ctx, live)
	})
}
