// Package v1alpha1 holds the API types of group controlee.dev.
//
// The field comments are the manual: they are what `kubectl explain` prints.
//
// +kubebuilder:object:generate=true
// +groupName=controlee.dev
package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// GroupVersion is the group and version of every type in this package.
var GroupVersion = schema.GroupVersion{Group: "controlee.dev", Version: "v1alpha1"}

var (
	// SchemeBuilder collects the types of this package.
	SchemeBuilder = &scheme.Builder{GroupVersion: GroupVersion}

	// AddToScheme adds the types of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)
