package service

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/provider/providertest"
)

func TestDesiredGolden(t *testing.T) {
	providertest.Golden(t, Provider{})
}

func bar() *v1alpha1.Bar {
	return providertest.NewBar(v1alpha1.BarSpec{
		SourceRef: v1alpha1.BarSourceReference{Kind: v1alpha1.SourceService, Namespace: "team-a", Name: "web", UID: "uid-web"},
		Tenant:    "a", ClassName: "public",
		Ports:    []v1alpha1.BarPort{{Port: 80}},
		Selector: map[string]string{"app": "web"},
	})
}

func class(settings v1alpha1.ServiceProviderSpec) *v1alpha1.BarClass {
	return providertest.NewClass(v1alpha1.BarProvider{Type: v1alpha1.ServiceProvider, Service: &settings})
}

func TestDesiredNeedsASelector(t *testing.T) {
	without := bar()
	without.Spec.Selector = nil
	_, err := Provider{}.Desired(without, class(v1alpha1.ServiceProviderSpec{}))
	var refused *provider.RefusalError
	if !errors.As(err, &refused) || refused.Reason != v1alpha1.ReasonNoSelector {
		t.Errorf("got %v", err)
	}
}

// A setting that cannot be changed in a live Service gives another Service; one that can does not.
func TestNames(t *testing.T) {
	nameOf := func(settings v1alpha1.ServiceProviderSpec) string {
		objects, err := Provider{}.Desired(bar(), class(settings))
		if err != nil {
			t.Fatal(err)
		}
		return objects[0].GetName()
	}
	same := nameOf(v1alpha1.ServiceProviderSpec{})
	cases := map[string]struct {
		settings v1alpha1.ServiceProviderSpec
		want     bool // the same name
	}{
		"Type":              {v1alpha1.ServiceProviderSpec{Type: corev1.ServiceTypeNodePort}, true},
		"Annotations":       {v1alpha1.ServiceProviderSpec{Annotations: map[string]string{"a": "b"}}, true},
		"SecondFamily":      {v1alpha1.ServiceProviderSpec{IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicyPreferDualStack)}, true},
		"FirstFamily":       {v1alpha1.ServiceProviderSpec{IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol}}, false},
		"LoadBalancerClass": {v1alpha1.ServiceProviderSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("example.com/lb")}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := nameOf(tc.settings) == same; got != tc.want {
				t.Errorf("same name: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestObserve(t *testing.T) {
	type service = corev1.Service
	withIngress := func(ingress ...corev1.LoadBalancerIngress) func(*service) {
		return func(s *service) {
			s.Spec.Type, s.Status.LoadBalancer.Ingress = corev1.ServiceTypeLoadBalancer, ingress
		}
	}
	ip := func(value string) v1alpha1.BarAddress {
		return v1alpha1.BarAddress{Type: v1alpha1.IPAddressType, Value: value}
	}
	cases := map[string]struct {
		reason string
		change func(*service)
		want   provider.Observation // Message: a part of it
	}{
		"ClusterIP": {
			reason: "Within the cluster it answers at once, in each address family.",
			change: func(s *service) { s.Spec.ClusterIPs = []string{"10.0.0.1", "fd00::1"} },
			want: provider.Observation{
				Ready: true, Reason: v1alpha1.ReasonProvisioned, Message: "within the cluster", Addresses: []v1alpha1.BarAddress{ip("10.0.0.1"), ip("fd00::1")},
			},
		},
		"NodePort": {
			reason: "Which nodes there are the operator does not know, but the port it does.",
			change: func(s *service) {
				s.Spec.Type = corev1.ServiceTypeNodePort
				s.Spec.ClusterIPs = []string{"10.0.0.1"}
				s.Spec.Ports = []corev1.ServicePort{{Name: "http", NodePort: 30080, Protocol: "TCP"}, {NodePort: 30053, Protocol: "UDP"}}
			},
			want: provider.Observation{
				Ready: true, Reason: v1alpha1.ReasonProvisioned, Message: "port 30080/TCP (http), 30053/UDP", Addresses: []v1alpha1.BarAddress{ip("10.0.0.1")},
			},
		},
		"NoAddress": {
			reason: "Without an address nobody can use it.",
			change: func(*service) {},
			want:   provider.Observation{Reason: v1alpha1.ReasonAddressPending, Message: "no cluster IP"},
		},
		"Headless": {
			reason: "None is no address.",
			change: func(s *service) { s.Spec.ClusterIPs = []string{corev1.ClusterIPNone} },
			want:   provider.Observation{Reason: v1alpha1.ReasonAddressPending, Message: "no cluster IP"},
		},
		"Pending": {
			reason: "The cluster IP is not what a load balancer was asked for.",
			change: func(s *service) {
				withIngress()(s)
				s.Spec.ClusterIPs = []string{"10.0.0.1"}
			},
			want: provider.Observation{Reason: v1alpha1.ReasonAddressPending, Message: "waiting until the cluster's load balancer controller"},
		},
		"LoadBalancer": {
			reason: "Addresses and names, as the cloud gives them.",
			change: withIngress(corev1.LoadBalancerIngress{IP: "203.0.113.7"}, corev1.LoadBalancerIngress{Hostname: "lb.example.com"}),
			want: provider.Observation{
				Ready: true, Reason: v1alpha1.ReasonProvisioned, Message: "addresses of its load balancer",
				Addresses: []v1alpha1.BarAddress{ip("203.0.113.7"), {Type: v1alpha1.HostnameAddressType, Value: "lb.example.com"}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			live := &service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}}
			tc.change(live)
			got := Provider{}.Observe(bar(), class(v1alpha1.ServiceProviderSpec{}), []client.Object{live})
			if !strings.Contains(got.Message, tc.want.Message) {
				t.Errorf("message %q, want %q in it", got.Message, tc.want.Message)
			}
			got.Message = tc.want.Message
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
