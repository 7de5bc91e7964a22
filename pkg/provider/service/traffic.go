package service

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// applyTraffic sets what the source, a Service, asks for its traffic, as far as the class allows. A
// timeout of session affinity is always written: the API server would default it, keep it when the
// affinity is gone, and then refuse it.
func applyTraffic(spec *corev1ac.ServiceSpecApplyConfiguration, traffic *v1alpha1.BarTraffic, settings *v1alpha1.ServiceProviderSpec) {
	if traffic == nil {
		return
	}
	if traffic.SessionAffinity == corev1.ServiceAffinityClientIP {
		timeout := ptr.Deref(traffic.SessionAffinityTimeoutSeconds, corev1.DefaultClientIPServiceAffinitySeconds)
		spec.WithSessionAffinity(corev1.ServiceAffinityClientIP).
			WithSessionAffinityConfig(corev1ac.SessionAffinityConfig().WithClientIP(corev1ac.ClientIPConfig().WithTimeoutSeconds(timeout)))
	}
	if traffic.PublishNotReadyAddresses {
		spec.WithPublishNotReadyAddresses(true)
	}
	spec.TrafficDistribution = traffic.TrafficDistribution
	spec.InternalTrafficPolicy = traffic.InternalTrafficPolicy
	if traffic.ExternalTrafficPolicy != "" && policyIsFree(settings) {
		spec.WithExternalTrafficPolicy(traffic.ExternalTrafficPolicy)
	}
}

// policyIsFree returns whether the source may choose spec.externalTrafficPolicy: traffic comes from
// outside the cluster, and the class sets no policy.
func policyIsFree(settings *v1alpha1.ServiceProviderSpec) bool {
	return isExternal(settings) && settings.ExternalTrafficPolicy == ""
}

func isExternal(settings *v1alpha1.ServiceProviderSpec) bool {
	return cmp.Or(settings.Type, corev1.ServiceTypeClusterIP) != corev1.ServiceTypeClusterIP
}

// NotTakenOver returns a message with those settings of a source that a load balancer of the class
// has not, each with the reason, or an empty one. It leaves out what the API server allocates to
// every Service: addresses and node ports.
func NotTakenOver(source *corev1.Service, class *v1alpha1.BarClass) string {
	settings := ptr.Deref(class.Spec.Provider.Service, v1alpha1.ServiceProviderSpec{})
	var dropped []string
	add := func(field string, value any, format string, args ...any) {
		dropped = append(dropped, fmt.Sprintf("spec.%s: %v (%s)", field, value, fmt.Sprintf(format, args...)))
	}
	spec := &source.Spec
	if policy := spec.ExternalTrafficPolicy; policy == corev1.ServiceExternalTrafficPolicyLocal && settings.ExternalTrafficPolicy != policy {
		switch {
		case !isExternal(&settings):
			add("externalTrafficPolicy", policy, "BarClass %q serves clients within the cluster", class.Name)
		case !policyIsFree(&settings):
			add("externalTrafficPolicy", policy, "BarClass %q sets %s", class.Name, settings.ExternalTrafficPolicy)
		}
	}
	if port := spec.HealthCheckNodePort; port != 0 {
		add("healthCheckNodePort", port, "a node's port belongs to one Service")
	}
	if !ptr.Deref(spec.AllocateLoadBalancerNodePorts, true) {
		add("allocateLoadBalancerNodePorts", false, "node ports are the BarClass's to choose")
	}
	if policy := ptr.Deref(spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack); policy != corev1.IPFamilyPolicySingleStack && policy != ptr.Deref(settings.IPFamilyPolicy, "") {
		add("ipFamilyPolicy", policy, "address families are the BarClass's to choose")
	}
	if len(dropped) == 0 {
		return ""
	}
	return "not taken over: " + strings.Join(dropped, ", ")
}
