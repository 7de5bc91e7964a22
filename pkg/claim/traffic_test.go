package claim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

func TestTrafficOf(t *testing.T) {
	local, cluster := ptr.To(corev1.ServiceInternalTrafficPolicyLocal), ptr.To(corev1.ServiceInternalTrafficPolicyCluster)
	of := func(set func(*corev1.ServiceSpec)) *corev1.Service {
		return service(func(s *corev1.Service) { set(&s.Spec) })
	}
	cases := map[string]struct {
		reason string
		source client.Object
		want   *v1alpha1.BarTraffic
	}{
		"Deployment": {"A Deployment says nothing of traffic.", deployment(), nil},
		"Plain":      {"A Service that sets nothing gives nothing: Bars that exist must not change.", service(), nil},
		"Defaults": {"What the API server writes into every Service is nothing that somebody asked for.", of(func(s *corev1.ServiceSpec) {
			s.SessionAffinity, s.InternalTrafficPolicy, s.ExternalTrafficPolicy = corev1.ServiceAffinityNone, cluster, corev1.ServiceExternalTrafficPolicyCluster
		}), nil},
		"Affinity": {"Affinity comes with its timeout.", of(func(s *corev1.ServiceSpec) {
			s.SessionAffinity = corev1.ServiceAffinityClientIP
			s.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr.To[int32](60)}}
		}), &v1alpha1.BarTraffic{SessionAffinity: corev1.ServiceAffinityClientIP, SessionAffinityTimeoutSeconds: ptr.To[int32](60)}},
		"NotReady":     {"Pods that are not ready are asked for.", of(func(s *corev1.ServiceSpec) { s.PublishNotReadyAddresses = true }), &v1alpha1.BarTraffic{PublishNotReadyAddresses: true}},
		"Distribution": {"A preference is passed on.", of(func(s *corev1.ServiceSpec) { s.TrafficDistribution = ptr.To("PreferSameZone") }), &v1alpha1.BarTraffic{TrafficDistribution: ptr.To("PreferSameZone")}},
		"Policies": {"Policies other than the default are passed on.", of(func(s *corev1.ServiceSpec) {
			s.InternalTrafficPolicy, s.ExternalTrafficPolicy = local, corev1.ServiceExternalTrafficPolicyLocal
		}), &v1alpha1.BarTraffic{InternalTrafficPolicy: local, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, trafficOf(tc.source)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNoting(t *testing.T) {
	cases := map[string]struct {
		reason string
		answer Answer
		note   string
		want   string
	}{
		"None":         {"Nothing to note leaves the word alone.", Answer{Word: "Ready"}, "", "Ready"},
		"Ready":        {"A note stands beside the word.", Answer{Word: "Ready"}, "not taken over: x", "Ready: not taken over: x"},
		"Both":         {"Another message goes first.", Answer{Word: "Ready", Message: "no Pod is ready"}, "not taken over: x", "Ready: no Pod is ready; not taken over: x"},
		"Provisioning": {"Before it is ready other things matter.", Answer{Word: "Provisioning", Message: "wait"}, "not taken over: x", "Provisioning: wait"},
		"Refused":      {"A refusal is about something else.", Answer{Word: v1alpha1.ReasonOverLimit, Message: "too many"}, "not taken over: x", "OverLimit: too many"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.answer.noting(tc.note).State(); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
