package provider

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/names"
	"github.com/controlee/controlee/pkg/tenancy"
)

// Provider makes load balancers of one type. Its methods depend on nothing but their arguments, and
// change none of them.
type Provider interface {
	// Kinds are the kinds of all objects that it may make and that a cluster may lack. A lacking
	// one is used once it is there.
	Kinds() []tenancy.LateKind
	// Needs are those of Kinds that the given class cannot do without.
	Needs(class *v1alpha1.BarClass) []schema.GroupKind
	// Desired gives the objects that a Bar needs, in the order in which they are to be made. A
	// *RefusalError says that the Bar cannot be served with this class until one of them changes.
	Desired(bar *v1alpha1.Bar, class *v1alpha1.BarClass) ([]Object, error)
	// Observe judges the live objects, which stand in the order of Desired and all exist.
	Observe(bar *v1alpha1.Bar, class *v1alpha1.BarClass, live []client.Object) Observation
	// Uses returns the keys of the exclusive names that an object of one of Kinds uses, whoever
	// made the object.
	Uses(object *unstructured.Unstructured) []string
}

// Object is an object that a Bar needs.
type Object struct {
	// Unstructured holds the fields that are meant and no others. The Bar controller adds the
	// namespace, its labels and the owner reference, and for one of Kinds the API version that the
	// cluster has.
	//
	// The name comes from Name, with every setting that cannot be changed in a live object, or not
	// without an interruption: the Bar controller then makes a new object, and deletes the old one
	// once the new one is ready.
	*unstructured.Unstructured
	// Exclusive is what the object takes and only one Bar can have; nil for most.
	Exclusive *Exclusive
}

// Exclusive is a name that only one Bar can have, such as a host name. The Bar whose object uses it
// first keeps it.
type Exclusive struct {
	// Key tells it from all others, whichever provider they are of.
	Key string
	// Name is how messages name it, such as "host name web.example.com".
	Name string
	// Reason and Message tell a Bar that has to wait for it.
	Reason, Message string
}

// Observation says how a load balancer is.
type Observation struct {
	// Ready is true when it is as it was asked for.
	Ready bool
	// Reason and Message say what is missing, or what there is to know.
	Reason, Message string
	// Addresses are where it answers.
	Addresses []v1alpha1.BarAddress
}

// RefusalError says that a Bar cannot be served until it or its class changes.
type RefusalError struct {
	Reason, Message string
}

// Error tells what to do.
func (e *RefusalError) Error() string { return e.Message }

// Refuse makes a *RefusalError. The message says what to do.
func Refuse(reason, format string, args ...any) error {
	return &RefusalError{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Set holds the providers by type.
type Set map[v1alpha1.ProviderType]Provider

// For gives the provider of a class.
func (s Set) For(class *v1alpha1.BarClass) (Provider, error) {
	p, ok := s[class.Spec.Provider.Type]
	if !ok {
		return nil, Refuse(v1alpha1.ReasonProviderUnknown, "BarClass %q is of type %q, which this version of the operator does not know: choose another class",
			class.Name, class.Spec.Provider.Type)
	}
	return p, nil
}

// Kinds are the kinds of all providers that a cluster may lack.
func (s Set) Kinds() (kinds []tenancy.LateKind) {
	for _, p := range s {
		kinds = append(kinds, p.Kinds()...)
	}
	return kinds
}

// Uses returns the keys of the exclusive names that an object uses, whoever made it.
func (s Set) Uses(object *unstructured.Unstructured) (keys []string) {
	for _, p := range s {
		keys = append(keys, p.Uses(object)...)
	}
	return keys
}

// Name names an object of a Bar: by the source and the class, and by the settings whose change
// takes a new object.
func Name(bar *v1alpha1.Bar, class *v1alpha1.BarClass, settings ...string) string {
	source := &bar.Spec.SourceRef
	return names.Derive(source.Name, append([]string{string(source.Kind), source.Namespace, source.Name, class.Name}, settings...)...)
}

// FromApply makes an Object of a typed apply configuration.
func FromApply(config runtime.ApplyConfiguration) (Object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(config)
	if err != nil {
		return Object{}, fmt.Errorf("apply configuration %T: %w", config, err)
	}
	return Object{Unstructured: &unstructured.Unstructured{Object: content}}, nil
}
