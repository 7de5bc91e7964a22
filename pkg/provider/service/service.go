package service

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/tenancy"
)

// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups="",resources=services,verbs=get;list;watch;create;patch;delete

// Provider makes a Service for each Bar.
type Provider struct{}

// Kinds is empty: every cluster has Services.
func (Provider) Kinds() []tenancy.LateKind { return nil }

// Needs is empty.
func (Provider) Needs(*v1alpha1.BarClass) []schema.GroupKind { return nil }

// Uses is empty: a Service shares nothing with others.
func (Provider) Uses(*unstructured.Unstructured) []string { return nil }

// Desired gives the Service.
func (Provider) Desired(bar *v1alpha1.Bar, class *v1alpha1.BarClass) ([]provider.Object, error) {
	settings := ptr.Deref(class.Spec.Provider.Service, v1alpha1.ServiceProviderSpec{})
	service, err := New(bar, provider.Name(bar, class, fixed(&settings)...))
	if err != nil {
		return nil, err
	}
	apply(service, &settings)
	applyTraffic(service.Spec, bar.Spec.Traffic, &settings)
	object, err := provider.FromApply(service)
	if err != nil {
		return nil, err
	}
	return []provider.Object{object}, nil
}

// New gives a Service within the cluster that sends the Bar's ports to the Pods that the Bar selects.
func New(bar *v1alpha1.Bar, name string) (*corev1ac.ServiceApplyConfiguration, error) {
	if len(bar.Spec.Selector) == 0 {
		return nil, provider.Refuse(v1alpha1.ReasonNoSelector, "the %s selects no Pods, so there is nothing to send traffic to: give it a selector", bar.Spec.SourceRef.Kind)
	}
	spec := corev1ac.ServiceSpec().
		WithType(corev1.ServiceTypeClusterIP).
		WithSelector(bar.Spec.Selector).
		WithPorts(ports(bar.Spec.Ports)...)
	return corev1ac.Service(name, bar.Spec.SourceRef.Namespace).WithSpec(spec), nil
}

// apply sets what the class asks for. It writes nothing else: no address that a source could have asked for (externalIPs, loadBalancerIP)
// comes this way.
func apply(service *corev1ac.ServiceApplyConfiguration, settings *v1alpha1.ServiceProviderSpec) {
	if len(settings.Annotations) > 0 {
		service.WithAnnotations(settings.Annotations)
	}
	spec := service.Spec
	spec.WithType(cmp.Or(settings.Type, corev1.ServiceTypeClusterIP))
	spec.LoadBalancerClass = settings.LoadBalancerClass
	spec.WithLoadBalancerSourceRanges(settings.SourceRanges...)
	if settings.ExternalTrafficPolicy != "" {
		spec.WithExternalTrafficPolicy(settings.ExternalTrafficPolicy)
	}
	// Kubernetes' default is written out: the API server would keep the policy of an earlier
	// setting.
	spec.WithIPFamilyPolicy(ptr.Deref(settings.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack))
	spec.WithIPFamilies(settings.IPFamilies...)
}

// fixed are the settings that the API server does not let anyone change in a Service: the first address family, and the class of the load
// balancer.
func fixed(settings *v1alpha1.ServiceProviderSpec) []string {
	family := ""
	if len(settings.IPFamilies) > 0 {
		family = string(settings.IPFamilies[0])
	}
	return []string{ptr.Deref(settings.LoadBalancerClass, ""), family}
}

// ports are in an order of their own, so that a source which only lists its ports in another order changes nothing.
func ports(all []v1alpha1.BarPort) []*corev1ac.ServicePortApplyConfiguration {
	result := make([]*corev1ac.ServicePortApplyConfiguration, len(all))
	for i := range all {
		port := &all[i]
		config := corev1ac.ServicePort().
			WithPort(port.Port).
			WithProtocol(cmp.Or(port.Protocol, corev1.ProtocolTCP)).
			WithTargetPort(ptr.Deref(port.TargetPort, intstr.FromInt32(port.Port)))
		config.AppProtocol = port.AppProtocol
		if port.Name != "" {
			config.WithName(port.Name)
		}
		result[i] = config
	}
	slices.SortFunc(result, func(a, b *corev1ac.ServicePortApplyConfiguration) int {
		return cmp.Or(cmp.Compare(*a.Port, *b.Port), cmp.Compare(*a.Protocol, *b.Protocol))
	})
	return result
}
