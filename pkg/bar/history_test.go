package bar

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// A Service whose Bar or class is changed from A to B is the same as one that was made for B: the
// API server computes a default from what it has and keeps it later, and refuses some of the
// settings beside each other.
func TestServiceDoesNotDependOnItsHistory(t *testing.T) {
	type settings = v1alpha1.ServiceProviderSpec
	type traffic = v1alpha1.BarTraffic
	local := corev1.ServiceExternalTrafficPolicyLocal
	affine := &traffic{SessionAffinity: corev1.ServiceAffinityClientIP, SessionAffinityTimeoutSeconds: ptr.To[int32](60)}
	all := &traffic{
		SessionAffinity: corev1.ServiceAffinityClientIP, PublishNotReadyAddresses: true, TrafficDistribution: ptr.To(corev1.ServiceTrafficDistributionPreferSameZone),
		InternalTrafficPolicy: ptr.To(corev1.ServiceInternalTrafficPolicyLocal), ExternalTrafficPolicy: local,
	}
	steps := []struct {
		reason   string
		settings settings
		traffic  *traffic
	}{
		{"Without affinity a timeout is refused, so nothing of it may be left; nor of anything else.", settings{}, nil},
		{"Affinity with a timeout of its own.", settings{}, affine},
		{"All that a source can set; the external policy does not apply.", settings{}, all},
		{"Said to be off is the same as not said.", settings{}, &traffic{SessionAffinity: corev1.ServiceAffinityNone}},
		{"The external policy applies.", settings{Type: corev1.ServiceTypeNodePort}, all},
		{"The class's own policy goes first.", settings{Type: corev1.ServiceTypeNodePort, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster}, all},
		{"Local in a load balancer has a health check port.", settings{Type: corev1.ServiceTypeLoadBalancer}, all},
		{"Which goes with the policy.", settings{Type: corev1.ServiceTypeLoadBalancer, SourceRanges: []string{"192.0.2.0/24"}}, nil},
		{"An address family policy.", settings{IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicyPreferDualStack)}, affine},
		{"The class's own local policy.", settings{Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: local}, nil},
	}
	class := changingClass(t, "history")
	bar := newBar(t, newNamespace(t, "history"), "web", "history")
	r := newReconciler(server)
	specOf := func(t *testing.T, bar *v1alpha1.Bar) corev1.ServiceSpec {
		t.Helper()
		settle(t, r, bar)
		if bar.Status.Phase == v1alpha1.PhaseFailed {
			t.Fatalf("%+v", bar.Status.Conditions)
		}
		made := services(t, bar.Spec.SourceRef.Namespace)
		if len(made) != 1 {
			t.Fatalf("%d Services: %+v", len(made), bar.Status)
		}
		return withoutAllocations(made[0].Spec)
	}
	set := func(bar *v1alpha1.Bar, class *v1alpha1.BarClass, settings settings, traffic *traffic) {
		changeClass(t, class, func(p *v1alpha1.BarProvider) { p.Service = settings.DeepCopy() })
		change(t, bar, func(spec *v1alpha1.BarSpec) { spec.Traffic = traffic.DeepCopy() })
	}
	fresh := make([]corev1.ServiceSpec, len(steps))
	for i, step := range steps {
		made := newBar(t, newNamespace(t, fmt.Sprintf("history-%d", i)), "web", "history")
		set(made, class, step.settings, step.traffic)
		fresh[i] = specOf(t, made)
	}
	changeInto := func(i, j int) {
		set(bar, class, steps[j].settings, steps[j].traffic)
		if diff := cmp.Diff(fresh[j], specOf(t, bar)); diff != "" {
			t.Errorf("from %d to %d: %s\n-made for it, +changed into it\n%s", i, j, steps[j].reason, diff)
		}
	}
	// Each step after each other one: every pair in both directions.
	for i := range steps {
		changeInto(max(i-1, 0), i)
		for j := i + 1; j < len(steps); j++ {
			changeInto(i, j)
			changeInto(j, i)
		}
	}
}

// withoutAllocations leaves out what the API server allocates: addresses and ports, whose presence
// alone is the same.
func withoutAllocations(spec corev1.ServiceSpec) corev1.ServiceSpec {
	spec.ClusterIP, spec.ClusterIPs = "", nil
	spec.HealthCheckNodePort = min(spec.HealthCheckNodePort, 1)
	for i := range spec.Ports {
		spec.Ports[i].NodePort = min(spec.Ports[i].NodePort, 1)
	}
	return spec
}
