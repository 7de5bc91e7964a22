package claim

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

func TestTraces(t *testing.T) {
	service := func(class string, annotations map[string]string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: annotations},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To(class)},
			Status:     corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}},
		}
	}
	cases := map[string]struct {
		reason string
		source client.Object
		want   string
	}{
		"None":    {reason: "What the tenant wrote is the tenant's.", source: service("example.com/x", map[string]string{v1alpha1.BarClassAnnotation: "internal", v1alpha1.BarPortAnnotation: "http"})},
		"State":   {reason: "A refusal is written too.", source: service("example.com/x", map[string]string{v1alpha1.BarStateAnnotation: "OverLimit: x"}), want: "bar-state"},
		"Address": {reason: "So is an address.", source: service("example.com/x", map[string]string{v1alpha1.BarAddressAnnotation: "x"}), want: "bar-address"},
		"Empty":   {reason: "An empty annotation is one.", source: service("example.com/x", map[string]string{v1alpha1.BarStateAnnotation: ""}), want: "bar-state"},
		"Ingress": {reason: "The status of a Service of a BarClass is the operator's.", source: service("controlee.dev/internal", nil), want: "status.loadBalancer"},
	}
	for name, tc := range cases {
		got := strings.Join(Traces(tc.source), ", ")
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s\ngot %q", name, tc.reason, got)
		}
	}
}
