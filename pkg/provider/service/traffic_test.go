package service

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

func TestNotTakenOver(t *testing.T) {
	local := corev1.ServiceExternalTrafficPolicyLocal
	dual := corev1.IPFamilyPolicyPreferDualStack
	cases := map[string]struct {
		reason   string
		source   corev1.ServiceSpec
		settings v1alpha1.ServiceProviderSpec
		want     []string // parts of the message; none: an empty one
	}{
		"Plain": {reason: "Nothing was asked for."},
		"TakenOver": {
			reason:   "What the load balancer has is not mentioned.",
			source:   corev1.ServiceSpec{SessionAffinity: corev1.ServiceAffinityClientIP, PublishNotReadyAddresses: true, ExternalTrafficPolicy: local},
			settings: v1alpha1.ServiceProviderSpec{Type: corev1.ServiceTypeNodePort},
		},
		"Inside": {
			reason: "Traffic from outside does not arrive.",
			source: corev1.ServiceSpec{ExternalTrafficPolicy: local},
			want:   []string{`not taken over: spec.externalTrafficPolicy: Local (BarClass "public" serves clients within the cluster)`},
		},
		"PolicyOfTheClass": {
			reason:   "The class has chosen.",
			source:   corev1.ServiceSpec{ExternalTrafficPolicy: local},
			settings: v1alpha1.ServiceProviderSpec{Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster},
			want:     []string{`spec.externalTrafficPolicy: Local (BarClass "public" sets Cluster)`},
		},
		"SamePolicy": {
			reason:   "The class has chosen the same.",
			source:   corev1.ServiceSpec{ExternalTrafficPolicy: local},
			settings: v1alpha1.ServiceProviderSpec{Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: local},
		},
		"Ports": {
			reason:   "A port of the nodes cannot be had twice.",
			source:   corev1.ServiceSpec{HealthCheckNodePort: 31000, AllocateLoadBalancerNodePorts: ptr.To(false)},
			settings: v1alpha1.ServiceProviderSpec{Type: corev1.ServiceTypeLoadBalancer},
			want:     []string{"not taken over: spec.healthCheckNodePort: 31000 (a node's port belongs to one Service), spec.allocateLoadBalancerNodePorts: false ("},
		},
		"Families":     {reason: "Addresses are the class's.", source: corev1.ServiceSpec{IPFamilyPolicy: &dual}, want: []string{"spec.ipFamilyPolicy: PreferDualStack"}},
		"SameFamilies": {reason: "The class gives the same.", source: corev1.ServiceSpec{IPFamilyPolicy: &dual}, settings: v1alpha1.ServiceProviderSpec{IPFamilyPolicy: &dual}},
		"Single":       {reason: "That is the default.", source: corev1.ServiceSpec{IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicySingleStack)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := NotTakenOver(&corev1.Service{Spec: tc.source}, class(tc.settings))
			if (got == "") != (len(tc.want) == 0) {
				t.Errorf("%s\ngot %q", tc.reason, got)
			}
			for _, part := range tc.want {
				if !strings.Contains(got, part) {
					t.Errorf("%s\ngot %q, want %q in it", tc.reason, got, part)
				}
			}
		})
	}
}
