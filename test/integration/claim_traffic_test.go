package integration

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// traffic are the settings of a Service that say how traffic reaches its Pods.
type traffic struct {
	Affinity     corev1.ServiceAffinity
	Timeout      *corev1.SessionAffinityConfig
	NotReady     bool
	Distribution *string
	Internal     *corev1.ServiceInternalTrafficPolicy
	External     corev1.ServiceExternalTrafficPolicy
}

func trafficOf(s *corev1.Service) traffic {
	return traffic{
		s.Spec.SessionAffinity, s.Spec.SessionAffinityConfig, s.Spec.PublishNotReadyAddresses,
		s.Spec.TrafficDistribution, s.Spec.InternalTrafficPolicy, s.Spec.ExternalTrafficPolicy,
	}
}

// waitTraffic waits until the load balancer of a Service has these settings.
func waitTraffic(t *testing.T, source *corev1.Service, want traffic) {
	t.Helper()
	eventually(t, wait, func(context.Context) error {
		_, made := waitExposed(t, source)
		if diff := cmp.Diff(want, trafficOf(made)); diff != "" {
			return fmt.Errorf("-want +got\n%s", diff)
		}
		return nil
	})
}

// The load balancer of a Service takes over what the Service says of its traffic, gives it up
// again, and says what it cannot have.
func TestServiceTraffic(t *testing.T) {
	needClass(t, nodePortClass)
	source := newService("claim-service", "traffic", nodePortClass)
	create(t, source)
	cluster, local := ptr.To(corev1.ServiceInternalTrafficPolicyCluster), ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
	plain := traffic{Affinity: corev1.ServiceAffinityNone, Internal: cluster, External: corev1.ServiceExternalTrafficPolicyCluster}
	waitTraffic(t, source, plain)
	if bar, _ := waitExposed(t, source); bar.Spec.Traffic != nil {
		t.Errorf("defaults in the Bar: %+v", bar.Spec.Traffic)
	}
	_, made := waitExposed(t, source)

	change(t, source, func(s *corev1.Service) {
		s.Spec.Type = corev1.ServiceTypeNodePort
		s.Spec.SessionAffinity, s.Spec.PublishNotReadyAddresses = corev1.ServiceAffinityClientIP, true
		s.Spec.TrafficDistribution, s.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceTrafficDistributionPreferSameZone), local
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	})
	waitTraffic(t, source, trafficOf(source))
	waitState(t, source, "Ready")
	if state := source.Annotations[v1alpha1.BarStateAnnotation]; state != "Ready" {
		t.Errorf("state %q", state)
	}

	change(t, source, func(s *corev1.Service) { askFor(s, internalClass) })
	waitState(t, source, `Ready: not taken over: spec.externalTrafficPolicy: Local (BarClass "internal" serves clients within the cluster)`)
	change(t, source, func(s *corev1.Service) { askFor(s, nodePortClass) })
	waitState(t, source, "Ready")

	change(t, source, func(s *corev1.Service) {
		s.Spec.SessionAffinity, s.Spec.SessionAffinityConfig, s.Spec.PublishNotReadyAddresses = corev1.ServiceAffinityNone, nil, false
		s.Spec.TrafficDistribution, s.Spec.InternalTrafficPolicy = nil, cluster
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	})
	waitTraffic(t, source, plain)
	if _, now := waitExposed(t, source); now.Name != made.Name {
		t.Errorf("another Service: %s, before %s", now.Name, made.Name)
	}

	t.Run("HealthCheckNodePort", func(t *testing.T) {
		classy := newService("claim-service", "checked", "", withClass(v1alpha1.LoadBalancerClassPrefix+internalClass), func(s *corev1.Service) {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		})
		create(t, classy)
		waitState(t, classy, "Ready: not taken over: spec.externalTrafficPolicy: Local (")
		waitState(t, classy, fmt.Sprintf(`Ready: not taken over: spec.externalTrafficPolicy: Local (BarClass "internal" serves clients within the cluster), spec.healthCheckNodePort: %d (`,
			classy.Spec.HealthCheckNodePort))
	})
	t.Run("BlankSourceRanges", func(t *testing.T) {
		blank := newService("claim-service", "blank", "", withClass(v1alpha1.LoadBalancerClassPrefix+internalClass))
		blank.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey] = " "
		create(t, blank)
		waitExposed(t, blank)
	})
}

// Each name of a port can be picked, also the second one that a Pod has for the same number.
func TestSecondNameOfAPort(t *testing.T) {
	deployment := newDeployment("claim-basic", "two-names", internalClass, func(d *appsv1.Deployment) {
		d.Annotations[v1alpha1.BarPortAnnotation] = "web"
		containers := &d.Spec.Template.Spec.Containers
		*containers = append(*containers, corev1.Container{
			Name: "sidecar", Image: "registry.example/proxy:1", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}},
		})
	})
	create(t, deployment)
	bar, _ := waitExposed(t, deployment)
	if len(bar.Spec.Ports) != 1 || bar.Spec.Ports[0].Name != "web" || bar.Spec.Ports[0].Port != 8080 {
		t.Errorf("ports %+v", bar.Spec.Ports)
	}
	change(t, deployment, func(d *appsv1.Deployment) { d.Annotations[v1alpha1.BarPortAnnotation] = "http" })
	eventually(t, wait, func(ctx context.Context) error {
		now := &v1alpha1.Bar{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(bar), now); err != nil {
			return err
		}
		if now.UID != bar.UID || now.Spec.Ports[0].Name != "http" {
			return fmt.Errorf("Bar %s (before %s), ports %+v", now.UID, bar.UID, now.Spec.Ports)
		}
		return nil
	})
}
