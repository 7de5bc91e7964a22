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

// containerPorts returns the ports of all containers of a Deployment's Pods in the order in which
// Kubernetes looks for a port's name: those of the containers, then those of the sidecars. A number
// that several containers list, or one container under several names, is there as often as it is
// listed, so that each of its names can be picked.
func containerPorts(deployment *appsv1.Deployment) (ports []v1alpha1.BarPort) {
	pod := &deployment.Spec.Template.Spec
	sidecars := slices.DeleteFunc(slices.Clone(pod.InitContainers), func(c corev1.Container) bool {
		return ptr.Deref(c.RestartPolicy, "") != corev1.ContainerRestartPolicyAlways // it ends before the others begin
	})
	for _, container := range slices.Concat(pod.Containers, sidecars) {
		for _, port := range container.Ports {
			ports = append(ports, v1alpha1.BarPort{Name: port.Name, Port: port.ContainerPort, Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP)})
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

// pick returns those of a source's ports that the annotation bar-port names by name or number, or
// all without it, once for each number and protocol. It picks before it drops a number that is
// listed twice, so that each name of a number can be picked; the first name that is left stays. One
// number may be a port of several protocols, and one name, in several containers, may be several
// numbers: all of them are picked, since a change of the order of containers must not change the
// load balancer.
func pick(ports []v1alpha1.BarPort, port string) ([]v1alpha1.BarPort, *refusal) {
	if len(ports) == 0 {
		return nil, refuse(v1alpha1.ReasonInvalidPorts, "the source has no ports: list those of the program, such as containerPort: 8080")
	}
	picked := distinct(ports)
	if port != "" {
		picked = distinct(slices.DeleteFunc(slices.Clone(ports), func(p v1alpha1.BarPort) bool {
			return port != p.Name && port != strconv.Itoa(int(p.Port))
		}))
	}
	switch {
	case len(picked) == 0:
		return nil, refuse(v1alpha1.ReasonInvalidPorts, "the annotation %s picks port %s, which is none of %s",
			v1alpha1.BarPortAnnotation, quote(port), offered(ports))
	case len(picked) > maxPorts:
		return nil, refuse(v1alpha1.ReasonInvalidPorts, "a load balancer has at most %d ports, and the source has %d: set %s to one of them",
			maxPorts, len(picked), v1alpha1.BarPortAnnotation)
	}
	return picked, nil
}

// distinct returns the first port of each number and protocol.
func distinct(ports []v1alpha1.BarPort) (result []v1alpha1.BarPort) {
	for _, port := range ports {
		if !slices.ContainsFunc(result, func(p v1alpha1.BarPort) bool { return p.Port == port.Port && p.Protocol == port.Protocol }) {
			result = append(result, port)
		}
	}
	return result
}

// offered lists ports as "8080 (http), 9090", each once.
func offered(ports []v1alpha1.BarPort) string {
	var list []string
	for _, port := range ports {
		text := strconv.Itoa(int(port.Port))
		if port.Name != "" {
			text += " (" + port.Name + ")"
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
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
