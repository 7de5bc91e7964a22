package claim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// maxPorts is how many ports a Bar has at most.
const maxPorts = 100

// containerPorts gives the ports of all containers of a Deployment's Pods, sidecars last, one for each number and protocol.
func containerPorts(deployment *appsv1.Deployment) (ports []v1alpha1.BarPort) {
	pod := &deployment.Spec.Template.Spec
	sidecars := slices.DeleteFunc(slices.Clone(pod.InitContainers), func(c corev1.Container) bool {
		return ptr.Deref(c.RestartPolicy, "") != corev1.ContainerRestartPolicyAlways // it ends before the others begin
	})
	for _, container := range slices.Concat(pod.Containers, sidecars) {
		for _, port := range container.Ports {
			wanted := v1alpha1.BarPort{Name: port.Name, Port: port.ContainerPort, Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP)}
			if !slices.ContainsFunc(ports, func(p v1alpha1.BarPort) bool { return p.Port == wanted.Port && p.Protocol == wanted.Protocol }) {
				ports = append(ports, wanted)
			}
		}
	}
	return ports
}

// servicePorts gives the ports of a Service. Its node ports are its own: no other Service can have them.
func servicePorts(service *corev1.Service) (ports []v1alpha1.BarPort) {
	for _, port := range service.Spec.Ports {
		wanted := v1alpha1.BarPort{
			Name: port.Name, Port: port.Port, Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP), AppProtocol: port.AppProtocol,
		}
		if target := port.TargetPort; target != (intstr.IntOrString{}) {
			wanted.TargetPort = &target
		}
		ports = append(ports, wanted)
	}
	return ports
}

// pick takes of a source's ports those that the annotation bar-port names by name or number, or all without it. One number may be
// a port of several protocols.
func pick(ports []v1alpha1.BarPort, port string) ([]v1alpha1.BarPort, *refusal) {
	if len(ports) == 0 {
		return nil, refuse(v1alpha1.ReasonInvalidPorts, "the source has no ports: list those of the program, such as containerPort: 8080")
	}
	if port == "" {
		if len(ports) > maxPorts {
			return nil, refuse(v1alpha1.ReasonInvalidPorts, "a load balancer has at most %d ports, and the source has %d: set %s to one of them",
				maxPorts, len(ports), v1alpha1.BarPortAnnotation)
		}
		return ports, nil
	}
	var picked []v1alpha1.BarPort
	var offered []string
	for _, p := range ports {
		number := strconv.Itoa(int(p.Port))
		if port == number || port == p.Name {
			picked = append(picked, p)
		}
		if p.Name != "" {
			number += " (" + p.Name + ")"
		}
		offered = append(offered, number)
	}
	if len(picked) == 0 {
		return nil, refuse(v1alpha1.ReasonInvalidPorts, "the annotation %s picks port %s, which is none of %s",
			v1alpha1.BarPortAnnotation, quote(port), strings.Join(offered, ", "))
	}
	return picked, nil
}

// nameAll gives each of several ports a name of its own, as a Service needs them: its own name where no port before it has the same.
func nameAll(ports []v1alpha1.BarPort) []v1alpha1.BarPort {
	if len(ports) == 1 {
		return ports
	}
	named := slices.Clone(ports)
	taken := map[string]bool{}
	for i := range named {
		if taken[named[i].Name] {
			named[i].Name = ""
		}
		taken[named[i].Name] = true
	}
	for i := range named {
		p := &named[i]
		if p.Name != "" {
			continue
		}
		p.Name = fmt.Sprintf("%s-%d", strings.ToLower(string(p.Protocol)), p.Port)
		for taken[p.Name] {
			p.Name += "x"
		}
		taken[p.Name] = true
	}
	return named
}
