package bar

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
	"github.com/controlee/controlee/pkg/provider"
)

// part is one object of a Bar's load balancer: what is wanted of it, and what there is.
type part struct {
	// Object is wanted.
	Object    *unstructured.Unstructured
	exclusive *provider.Exclusive
	live      client.Object // without UID while there is none
}

// newPart completes what a provider wants: the version to write, the namespace and the labels.
func newPart(bar *v1alpha1.Bar, object provider.Object, gvk schema.GroupVersionKind) part {
	wanted := object.DeepCopy()
	wanted.SetGroupVersionKind(gvk)
	wanted.SetNamespace(bar.Spec.SourceRef.Namespace)
	labels := wanted.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.BarLabel] = bar.Name
	labels[v1alpha1.ManagedByLabel] = v1alpha1.ManagedByValue
	wanted.SetLabels(labels)
	return part{Object: wanted, exclusive: object.Exclusive}
}

// mustBeOurs checks that the live object, if there is one, was made for this Bar. Who controls it the Writer checks.
func (p *part) mustBeOurs(bar *v1alpha1.Bar) error {
	controller := metav1.GetControllerOf(p.live)
	if p.live.GetUID() == "" || controller == nil || controller.UID != bar.Spec.SourceRef.UID || isOurs(bar, p.live) {
		return nil
	}
	return &apply.ForeignError{Kind: p.Object.GetKind(), Name: p.Object.GetName()}
}

// isOurs says whether an object was made for a Bar: its source controls it, and it carries the Bar's name, which nobody but the operator
// may write.
func isOurs(bar *v1alpha1.Bar, object metav1.Object) bool {
	controller := metav1.GetControllerOf(object)
	return controller != nil && controller.UID == bar.Spec.SourceRef.UID && object.GetLabels()[v1alpha1.BarLabel] == bar.Name
}

// controllerOf is the owner reference of a Bar's objects. It does not block the deletion of the source: that would take a right on its
// finalizers.
func controllerOf(bar *v1alpha1.Bar) metav1.OwnerReference {
	source := &bar.Spec.SourceRef
	version := corev1.SchemeGroupVersion
	if source.Kind == v1alpha1.SourceDeployment {
		version = appsv1.SchemeGroupVersion
	}
	return metav1.OwnerReference{
		APIVersion: version.String(), Kind: string(source.Kind), Name: source.Name, UID: source.UID, Controller: ptr.To(true),
	}
}
