// Package v1alpha1 holds the API types of group controlee.dev.
//
// The field comments are the manual: they are what `kubectl explain` prints.
//
// +kubebuilder:object:generate=true
// +groupName=controlee.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every type in this package.
const GroupName = "controlee.dev"

// GroupVersion is the group and version of every type in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

var (
	// SchemeBuilder collects the types of this package.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds the types of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Resource qualifies a resource name, such as "foos", with the group, for errors that name it.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Foo{}, &FooList{},
		&Bar{}, &BarList{},
		&BarClass{}, &BarClassList{},
		&Tenant{}, &TenantList{},
		&Fence{}, &FenceList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)

	return nil
}
