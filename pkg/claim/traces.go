package claim

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// Traces returns what the controllers have written on a source and not removed yet, by the names of
// the fields.
func Traces(source client.Object) (fields []string) {
	for _, annotation := range []string{v1alpha1.BarAddressAnnotation, v1alpha1.BarStateAnnotation} {
		if _, ok := source.GetAnnotations()[annotation]; ok {
			fields = append(fields, "the annotation "+annotation)
		}
	}
	// The status of a Service whose class is not a BarClass is other controllers'.
	if service, ok := source.(*corev1.Service); ok && !isBarObject(service) && loadBalancerClass(service) != "" &&
		len(service.Status.LoadBalancer.Ingress) > 0 {
		fields = append(fields, "status.loadBalancer")
	}
	return fields
}
