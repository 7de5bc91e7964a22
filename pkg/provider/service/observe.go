package service

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
)

// Observe tells whether the Service has an address.
func (Provider) Observe(_ *v1alpha1.Bar, _ *v1alpha1.BarClass, live []client.Object) provider.Observation {
	service, ok := live[0].(*corev1.Service)
	if !ok {
		return provider.Observation{Reason: v1alpha1.ReasonAddressPending, Message: fmt.Sprintf("a %T is no Service", live[0])}
	}
	if service.Spec.Type == corev1.ServiceTypeLoadBalancer {
		return loadBalancer(service)
	}
	addresses := clusterAddresses(service)
	if len(addresses) == 0 {
		return provider.Observation{Reason: v1alpha1.ReasonAddressPending, Message: fmt.Sprintf("Service %s has no cluster IP yet", service.Name)}
	}
	message := fmt.Sprintf("Service %s answers within the cluster", service.Name)
	if service.Spec.Type == corev1.ServiceTypeNodePort {
		message += ", and on every node at " + nodePorts(service)
	}
	return provider.Observation{Ready: true, Reason: v1alpha1.ReasonProvisioned, Message: message, Addresses: addresses}
}

func loadBalancer(service *corev1.Service) provider.Observation {
	var addresses []v1alpha1.BarAddress
	for i := range service.Status.LoadBalancer.Ingress {
		ingress := &service.Status.LoadBalancer.Ingress[i]
		if ingress.IP != "" {
			addresses = append(addresses, v1alpha1.BarAddress{Type: v1alpha1.IPAddressType, Value: ingress.IP})
		}
		if ingress.Hostname != "" {
			addresses = append(addresses, v1alpha1.BarAddress{Type: v1alpha1.HostnameAddressType, Value: ingress.Hostname})
		}
	}
	if len(addresses) == 0 {
		return provider.Observation{
			Reason:  v1alpha1.ReasonAddressPending,
			Message: fmt.Sprintf("waiting until the cluster's load balancer controller gives Service %s an address", service.Name),
		}
	}
	return provider.Observation{
		Ready: true, Reason: v1alpha1.ReasonProvisioned,
		Message:   fmt.Sprintf("Service %s has the addresses of its load balancer", service.Name),
		Addresses: addresses,
	}
}

func clusterAddresses(service *corev1.Service) (addresses []v1alpha1.BarAddress) {
	for _, ip := range service.Spec.ClusterIPs {
		if ip != "" && ip != corev1.ClusterIPNone {
			addresses = append(addresses, v1alpha1.BarAddress{Type: v1alpha1.IPAddressType, Value: ip})
		}
	}
	return addresses
}

// nodePorts lists the node ports as "30080/TCP (http), 30053/UDP (dns)".
func nodePorts(service *corev1.Service) string {
	list := make([]string, len(service.Spec.Ports))
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		list[i] = fmt.Sprintf("%d/%s", port.NodePort, port.Protocol)
		if port.Name != "" {
			list[i] += fmt.Sprintf(" (%s)", port.Name)
		}
	}
	return "port " + strings.Join(list, ", ")
}
