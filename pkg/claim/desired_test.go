package claim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// deployment makes a Deployment that asks for class internal and has one port.
func deployment(changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: "web", UID: "uid-web", Annotations: map[string]string{v1alpha1.BarClassAnnotation: "internal"},
		},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
				{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}},
			}}},
		},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

// service makes a Service that asks for class internal and has one port.
func service(changes ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: "web", UID: "uid-web", Annotations: map[string]string{v1alpha1.BarClassAnnotation: "internal"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.0.0.1", Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("http"), NodePort: 30080}},
		},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

func class(provider v1alpha1.ProviderType) *v1alpha1.BarClass {
	return &v1alpha1.BarClass{
		ObjectMeta: metav1.ObjectMeta{Name: "internal"},
		Spec:       v1alpha1.BarClassSpec{Provider: v1alpha1.BarProvider{Type: provider}},
	}
}

func kindOf(source client.Object) kind {
	if _, ok := source.(*corev1.Service); ok {
		return kinds[1]
	}
	return kinds[0]
}

func TestClassOf(t *testing.T) {
	ofBar := func(s *corev1.Service) {
		s.Labels = map[string]string{v1alpha1.BarLabel: "web-0123456789"}
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "uid", Controller: ptr.To(true)}}
	}
	classed := func(class string) func(*corev1.Service) {
		return func(s *corev1.Service) {
			s.Annotations = nil
			s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, ptr.To(class)
		}
	}
	annotated := func(class string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Annotations = map[string]string{v1alpha1.BarClassAnnotation: class} }
	}
	cases := map[string]struct {
		reason string
		source client.Object
		want   string
		refuse bool
	}{
		"Deployment":          {reason: "The annotation opts in.", source: deployment(), want: "internal"},
		"PlainDeployment":     {reason: "Nothing asked for.", source: deployment(func(d *appsv1.Deployment) { d.Annotations = nil })},
		"EmptyAnnotation":     {reason: "An annotation without a value names no class.", source: service(annotated(""))},
		"Service":             {reason: "The annotation opts in.", source: service(), want: "internal"},
		"LoadBalancerClass":   {reason: "A class of ours opts in.", source: service(classed("controlee.dev/public")), want: "public"},
		"ForeignClass":        {reason: "Another controller's class is another controller's.", source: service(classed("example.com/public"))},
		"AnnotatedAndForeign": {reason: "A Service of another controller's may have one of ours beside it.", source: service(classed("example.com/x"), annotated("internal")), want: "internal"},
		"BothAlike":           {reason: "Said twice is said once.", source: service(classed("controlee.dev/internal"), annotated("internal")), want: "internal"},
		"BothDiffer":          {reason: "Neither goes before the other.", source: service(classed("controlee.dev/public"), annotated("internal")), refuse: true},
		"ClassOfAnotherType": {
			reason: "Only a Service of type LoadBalancer has a class.",
			source: service(classed("controlee.dev/public"), func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }),
		},
		"ObjectOfABar": {reason: "A load balancer must not beget the next one.", source: service(ofBar)},
		"OnlyLabelled": {
			reason: "A label alone, which somebody forged, makes no object of a Bar.",
			source: service(ofBar, func(s *corev1.Service) { s.OwnerReferences = nil }), want: "internal",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, refusal := classOf(tc.source)
			if got != tc.want || (refusal != nil) != tc.refuse {
				t.Errorf("%s\ngot %q, %+v", tc.reason, got, refusal)
			}
		})
	}
}

func TestWishOf(t *testing.T) {
	tenant := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1alpha1.TenantSpec{AllowedBarClasses: []string{"other", "internal"}}}
	spec := func(kind v1alpha1.BarSourceKind, group string, changes ...func(*v1alpha1.BarSpec)) *v1alpha1.BarSpec {
		s := &v1alpha1.BarSpec{
			SourceRef: v1alpha1.BarSourceReference{APIGroup: group, Kind: kind, Namespace: "team-a", Name: "web", UID: "uid-web"},
			Tenant:    "a", ClassName: "internal", Selector: map[string]string{"app": "web"},
			Ports: []v1alpha1.BarPort{{Name: "http", Port: 8080, Protocol: corev1.ProtocolTCP}},
		}
		for _, change := range changes {
			change(s)
		}
		return s
	}
	ofService := func(s *v1alpha1.BarSpec) {
		s.Ports = []v1alpha1.BarPort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: ptr.To(intstr.FromString("http"))}}
	}
	cases := map[string]struct {
		reason  string
		source  client.Object
		class   *v1alpha1.BarClass
		tenant  *v1alpha1.Tenant
		want    *v1alpha1.BarSpec
		refused string // reason
		message string // part of the message
	}{
		"Deployment": {
			reason: "A Deployment gives its selector and its containers' ports.",
			source: deployment(), class: class(v1alpha1.ServiceProvider), want: spec(v1alpha1.SourceDeployment, "apps"),
		},
		"Service": {
			reason: "A Service gives its selector and its ports, but no node port: it has that itself.",
			source: service(), class: class(v1alpha1.ServiceProvider), want: spec(v1alpha1.SourceService, "", ofService),
		},
		"ServiceWithoutPods": {
			reason: "A route goes to the Service itself, so it needs no Pods to select.",
			source: service(func(s *corev1.Service) { s.Spec.Selector = nil }), class: class(v1alpha1.GatewayProvider),
			want: spec(v1alpha1.SourceService, "", ofService, func(s *v1alpha1.BarSpec) { s.Selector = nil }),
		},
		"NoClass": {
			reason: "A missing class takes nothing away.",
			source: deployment(), refused: v1alpha1.ReasonBarClassNotFound, message: `no BarClass "internal"`,
		},
		"NotAllowed": {
			reason: "What the Tenant does not allow is taken away.",
			source: deployment(), class: class(v1alpha1.ServiceProvider), tenant: &v1alpha1.Tenant{},
			refused: v1alpha1.ReasonClassNotAllowed, message: "ask your platform admin",
		},
		"MatchExpressions": {
			reason: "A Service can only select by labels.",
			source: deployment(func(d *appsv1.Deployment) {
				d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "x", Operator: metav1.LabelSelectorOpExists}}
			}),
			class: class(v1alpha1.ServiceProvider), refused: v1alpha1.ReasonUnsupportedSource, message: "without matchExpressions",
		},
		"NoLabels": {
			reason: "An empty selector would be all Pods of the namespace.",
			source: deployment(func(d *appsv1.Deployment) { d.Spec.Selector.MatchLabels = nil }),
			class:  class(v1alpha1.ServiceProvider), refused: v1alpha1.ReasonUnsupportedSource, message: "matchLabels",
		},
		"NoPorts": {
			reason: "Without a port there is nothing to balance.",
			source: deployment(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Ports = nil }),
			class:  class(v1alpha1.ServiceProvider), refused: v1alpha1.ReasonInvalidPorts, message: "containerPort: 8080",
		},
		"Headless": {
			reason: "Nobody answers at a headless Service's address.",
			source: service(func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }),
			class:  class(v1alpha1.GatewayProvider), refused: v1alpha1.ReasonUnsupportedSource, message: "headless",
		},
		"ExternalName": {
			reason: "An external name could be another tenant's.",
			source: service(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }),
			class:  class(v1alpha1.GatewayProvider), refused: v1alpha1.ReasonUnsupportedSource, message: "ExternalName",
		},
		"NoSelector": {
			reason: "Endpoints by hand could be another tenant's Pods.",
			source: service(func(s *corev1.Service) { s.Spec.Selector = nil }),
			class:  class(v1alpha1.ServiceProvider), refused: v1alpha1.ReasonUnsupportedSource, message: "spec.selector",
		},
		"ExternalIPs": {
			reason: "An address of its choice could be another tenant's.",
			source: service(func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"203.0.113.1"} }),
			class:  class(v1alpha1.ServiceProvider), refused: v1alpha1.ReasonUnsupportedSource, message: "remove spec.externalIPs",
		},
		"LoadBalancerIP": {
			reason: "An address of its choice could be another tenant's.",
			source: service(func(s *corev1.Service) { s.Spec.LoadBalancerIP = "203.0.113.1" }),
			class:  class(v1alpha1.ServiceProvider), refused: v1alpha1.ReasonUnsupportedSource, message: "remove spec.loadBalancerIP",
		},
		"SourceRanges": {
			reason: "To leave them out would let in more than is meant.",
			source: service(func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }),
			class:  class(v1alpha1.ServiceProvider), refused: v1alpha1.ReasonUnsupportedSource, message: "source ranges",
		},
		"SourceRangesByAnnotation": {
			reason: "The annotation means the same as the field.",
			source: service(func(s *corev1.Service) { s.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey] = "10.0.0.0/8" }),
			class:  class(v1alpha1.ServiceProvider), refused: v1alpha1.ReasonUnsupportedSource, message: "source ranges",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.tenant == nil {
				tc.tenant = tenant
			}
			before := tc.source.DeepCopyObject()
			got := wishOf(kindOf(tc.source), tc.source, "internal", tc.class, tc.tenant)
			if diff := cmp.Diff(before, tc.source); diff != "" {
				t.Errorf("changed its argument: %s", diff)
			}
			if diff := cmp.Diff(tc.want, got.spec); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if tc.refused == "" {
				if got.refusal != nil {
					t.Errorf("%s\nrefused: %+v", tc.reason, got.refusal)
				}
				return
			}
			if r := got.refusal; r == nil || r.reason != tc.refused || !strings.Contains(r.message, tc.message) {
				t.Errorf("%s\ngot %+v", tc.reason, r)
			}
		})
	}
}
