package claim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
)

// maxName is how much is shown of a name. Those of BarClasses and ports are shorter.
const maxName = 64

// refusal says why a source that opts in does not get what it asks for, and what to do about it.
// It changes nothing about a load balancer that the source has already.
type refusal struct {
	reason, message string
}

// quote shows what a tenant wrote as a name.
func quote(name string) string { return strconv.Quote(message.Shorten(name, maxName)) }

func refuse(reason, format string, args ...any) *refusal {
	return &refusal{reason: reason, message: fmt.Sprintf(format, args...)}
}

// wish is what a source asks for: the spec of a Bar, or a refusal, or neither when it does not opt in.
type wish struct {
	spec    *v1alpha1.BarSpec
	refusal *refusal
}

// classOf gives the name of the BarClass that a source asks for, empty when it does not opt in.
func classOf(source client.Object) (string, *refusal) {
	annotated := source.GetAnnotations()[v1alpha1.BarClassAnnotation]
	service, ok := source.(*corev1.Service)
	if !ok {
		return annotated, nil
	}
	if isBarObject(service) {
		return "", nil // else a load balancer would beget the next one
	}
	asked := loadBalancerClass(service)
	if annotated != "" && asked != "" && annotated != asked {
		return "", refuse(v1alpha1.ReasonConflictingClasses,
			"the annotation %s asks for BarClass %s and spec.loadBalancerClass for %s: remove the annotation or make both the same",
			v1alpha1.BarClassAnnotation, quote(annotated), quote(asked))
	}
	return cmp.Or(annotated, asked), nil
}

// loadBalancerClass gives the BarClass that a Service of type LoadBalancer names as its class, if any.
func loadBalancerClass(service *corev1.Service) string {
	name, ours := strings.CutPrefix(ptr.Deref(service.Spec.LoadBalancerClass, ""), v1alpha1.LoadBalancerClassPrefix)
	if !ours || service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return ""
	}
	return name
}

// isBarObject says whether an object was made for a Bar: labelled so, and controlled by a source.
func isBarObject(object client.Object) bool {
	_, labelled := object.GetLabels()[v1alpha1.BarLabel]
	_, _, controlled := controllerOf(object)
	return labelled && controlled
}

// wishOf computes what a source asks for and may have, given the BarClass that it names (nil: there is none) and its tenant.
// It depends on nothing but its arguments.
func wishOf(k kind, source client.Object, className string, class *v1alpha1.BarClass, tenant *v1alpha1.Tenant) wish {
	if class == nil {
		return wish{refusal: refuse(v1alpha1.ReasonBarClassNotFound, "there is no BarClass %s: ask for one that your platform offers", quote(className))}
	}
	if !slices.Contains(tenant.Spec.AllowedBarClasses, className) {
		return wish{refusal: refuse(v1alpha1.ReasonClassNotAllowed, "your team may not use BarClass %q: ask your platform admin, or choose another one", className)}
	}
	selector, ports, r := want(source, class)
	if r == nil {
		ports, r = pick(ports, source.GetAnnotations()[v1alpha1.BarPortAnnotation])
	}
	if r != nil {
		return wish{refusal: r}
	}
	ref := k.ref(client.ObjectKeyFromObject(source))
	ref.UID = source.GetUID()
	return wish{spec: &v1alpha1.BarSpec{
		SourceRef: ref, Tenant: tenant.Name, ClassName: className,
		Ports: nameAll(ports), Selector: selector,
	}}
}

// want gives the Pods and ports that a source stands for, or says why a load balancer cannot be made of it.
func want(source client.Object, class *v1alpha1.BarClass) (map[string]string, []v1alpha1.BarPort, *refusal) {
	switch source := source.(type) {
	case *appsv1.Deployment:
		return source.Spec.Selector.MatchLabels, containerPorts(source), unsupportedSelector(source.Spec.Selector)
	case *corev1.Service:
		return source.Spec.Selector, servicePorts(source), unsupportedService(source, class)
	}
	return nil, nil, refuse(v1alpha1.ReasonUnsupportedSource, "a load balancer can be made of a Deployment or a Service, not of a %T", source)
}

func unsupportedSelector(selector *metav1.LabelSelector) *refusal {
	if len(selector.MatchExpressions) > 0 || len(selector.MatchLabels) == 0 {
		return refuse(v1alpha1.ReasonUnsupportedSource,
			"a Service selects Pods by labels alone: make a Deployment with spec.selector.matchLabels and without matchExpressions")
	}
	return nil
}

// unsupportedService refuses what a Service asks for beyond Pods and ports. An address of its choice could be another tenant's, and to
// leave out its source ranges would let more clients in than it means.
func unsupportedService(service *corev1.Service, class *v1alpha1.BarClass) *refusal {
	spec := &service.Spec
	_, ranges := service.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]
	switch {
	case spec.Type == corev1.ServiceTypeExternalName:
		return refuse(v1alpha1.ReasonUnsupportedSource, "a Service of type ExternalName has no Pods: use one of type ClusterIP")
	case spec.ClusterIP == corev1.ClusterIPNone:
		return refuse(v1alpha1.ReasonUnsupportedSource, "a headless Service has no address to balance to: use one without clusterIP: None")
	case len(spec.ExternalIPs) > 0:
		return refuse(v1alpha1.ReasonUnsupportedSource, "remove spec.externalIPs: addresses are the BarClass's to give")
	case spec.LoadBalancerIP != "": // deprecated, and still obeyed by others
		return refuse(v1alpha1.ReasonUnsupportedSource, "remove spec.loadBalancerIP: addresses are the BarClass's to give")
	case len(spec.LoadBalancerSourceRanges) > 0 || ranges:
		return refuse(v1alpha1.ReasonUnsupportedSource, "remove the load balancer source ranges: who may connect is the BarClass's to say")
	case len(spec.Selector) == 0 && class.Spec.Provider.Type == v1alpha1.ServiceProvider:
		return refuse(v1alpha1.ReasonUnsupportedSource, "BarClass %q needs a Service with spec.selector: it sends traffic to Pods", class.Name)
	}
	return nil
}
