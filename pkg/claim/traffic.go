package claim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	serviceprovider "github.com/controlee/controlee/pkg/provider/service"
)

// trafficOf returns the settings that a source, if it is a Service, has for its traffic, or nil
// where all of them are Kubernetes' defaults. A default is left out, because the API server writes
// it into every Service.
func trafficOf(source client.Object) *v1alpha1.BarTraffic {
	from, ok := source.(*corev1.Service)
	if !ok {
		return nil
	}
	spec := &from.Spec
	traffic := v1alpha1.BarTraffic{
		PublishNotReadyAddresses: spec.PublishNotReadyAddresses,
		TrafficDistribution:      spec.TrafficDistribution,
	}
	if spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		traffic.SessionAffinity = spec.SessionAffinity
		if config := spec.SessionAffinityConfig; config != nil && config.ClientIP != nil {
			traffic.SessionAffinityTimeoutSeconds = config.ClientIP.TimeoutSeconds
		}
	}
	if ptr.Deref(spec.InternalTrafficPolicy, "") == corev1.ServiceInternalTrafficPolicyLocal {
		traffic.InternalTrafficPolicy = spec.InternalTrafficPolicy
	}
	if spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		traffic.ExternalTrafficPolicy = spec.ExternalTrafficPolicy
	}
	if traffic == (v1alpha1.BarTraffic{}) {
		return nil
	}
	return &traffic
}

// notTakenOver returns a note with those settings of a source that its load balancer has not. A
// Gateway's route leads to the source itself, with all its settings, if that is a Service; a
// Deployment has no such settings.
func notTakenOver(source client.Object, class *v1alpha1.BarClass) string {
	from, ok := source.(*corev1.Service)
	if !ok || class.Spec.Provider.Type != v1alpha1.ServiceProvider {
		return ""
	}
	return serviceprovider.NotTakenOver(from, class)
}

// noting returns the answer with a note beside what else it says, if the load balancer is ready:
// until then other things matter.
func (a Answer) noting(note string) Answer {
	switch {
	case note == "" || a.Word != string(v1alpha1.PhaseReady):
	case a.Message == "":
		a.Message = note
	default:
		a.Message += "; " + note
	}
	return a
}
