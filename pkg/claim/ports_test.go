package claim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

func port(name string, number int32, protocol corev1.Protocol) v1alpha1.BarPort {
	return v1alpha1.BarPort{Name: name, Port: number, Protocol: protocol}
}

func TestContainerPorts(t *testing.T) {
	d := deployment()
	d.Spec.Template.Spec.Containers = []corev1.Container{
		{Ports: []corev1.ContainerPort{{Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP}, {ContainerPort: 53}}},
		{Ports: []corev1.ContainerPort{{Name: "again", ContainerPort: 53, Protocol: corev1.ProtocolTCP}, {Name: "dns", ContainerPort: 5353}}},
	}
	d.Spec.Template.Spec.InitContainers = []corev1.Container{
		{Ports: []corev1.ContainerPort{{Name: "setup", ContainerPort: 1111}}},
		{Ports: []corev1.ContainerPort{{Name: "proxy", ContainerPort: 15000}, {ContainerPort: 53}}, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)},
		{Ports: []corev1.ContainerPort{{Name: "tries", ContainerPort: 2222}}, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyOnFailure)},
	}
	want := []v1alpha1.BarPort{
		port("dns", 53, "UDP"), port("", 53, "TCP"), port("again", 53, "TCP"), port("dns", 5353, "TCP"), port("proxy", 15000, "TCP"), port("", 53, "TCP"),
	}
	if diff := cmp.Diff(want, containerPorts(d)); diff != "" {
		t.Errorf("all ports of all containers that run beside each other, -want +got\n%s", diff)
	}
}

// Which ports of a Deployment a load balancer has, with each way to name one.
func TestPickFromContainers(t *testing.T) {
	type ports = []corev1.ContainerPort
	tcp := func(name string, number int32) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP}
	}
	cases := map[string]struct {
		reason     string
		containers []ports
		sidecars   []ports
		pick       string
		want       []v1alpha1.BarPort
	}{
		"AllOfOneNumber":       {reason: "A load balancer has a number once; the first name stays.", containers: []ports{{tcp("http", 8080), tcp("web", 8080)}}, want: []v1alpha1.BarPort{port("http", 8080, "TCP")}},
		"FirstNameOfANumber":   {reason: "Either name picks the number.", containers: []ports{{tcp("http", 8080), tcp("web", 8080)}}, pick: "http", want: []v1alpha1.BarPort{port("http", 8080, "TCP")}},
		"SecondNameOfANumber":  {reason: "The second name is not dropped before it is looked for.", containers: []ports{{tcp("http", 8080), tcp("web", 8080)}}, pick: "web", want: []v1alpha1.BarPort{port("web", 8080, "TCP")}},
		"NumberOfTwoNames":     {reason: "By number the first name stays.", containers: []ports{{tcp("http", 8080), tcp("web", 8080)}}, pick: "8080", want: []v1alpha1.BarPort{port("http", 8080, "TCP")}},
		"NamedAfterNameless":   {reason: "A container that gives no name takes none away.", containers: []ports{{tcp("", 8080)}, {tcp("web", 8080)}}, pick: "web", want: []v1alpha1.BarPort{port("web", 8080, "TCP")}},
		"NameOfTwoNumbers":     {reason: "One name in two containers is both of their ports.", containers: []ports{{tcp("metrics", 9090)}, {tcp("metrics", 9091), tcp("http", 8080)}}, pick: "metrics", want: []v1alpha1.BarPort{port("metrics", 9090, "TCP"), port("metrics", 9091, "TCP")}},
		"NameTwiceForANumber":  {reason: "The same port listed twice is one.", containers: []ports{{tcp("http", 8080)}, {tcp("http", 8080)}}, pick: "http", want: []v1alpha1.BarPort{port("http", 8080, "TCP")}},
		"Sidecar":              {reason: "A sidecar's port is found by name.", containers: []ports{{tcp("http", 8080)}}, sidecars: []ports{{tcp("proxy", 15000)}}, pick: "proxy", want: []v1alpha1.BarPort{port("proxy", 15000, "TCP")}},
		"SidecarOfTheSameName": {reason: "Sidecars come after containers, as where Kubernetes looks for a name.", containers: []ports{{tcp("http", 8080)}}, sidecars: []ports{{tcp("http", 15000)}}, pick: "http", want: []v1alpha1.BarPort{port("http", 8080, "TCP"), port("http", 15000, "TCP")}},
		"SidecarNamesANumber":  {reason: "A sidecar may list the number that a container has under another name.", containers: []ports{{tcp("app", 8080)}}, sidecars: []ports{{tcp("proxy", 8080)}}, pick: "proxy", want: []v1alpha1.BarPort{port("proxy", 8080, "TCP")}},
		"Protocols": {
			reason:     "A number is a port of each protocol that it is listed with.",
			containers: []ports{{{Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP}, tcp("dns-tcp", 53)}, {tcp("also", 53)}}, pick: "53",
			want: []v1alpha1.BarPort{port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := deployment()
			pod := &d.Spec.Template.Spec
			pod.Containers = nil
			for _, list := range tc.containers {
				pod.Containers = append(pod.Containers, corev1.Container{Ports: list})
			}
			for _, list := range tc.sidecars {
				pod.InitContainers = append(pod.InitContainers, corev1.Container{Ports: list, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)})
			}
			before := d.DeepCopy()
			got, refusal := pick(containerPorts(d), tc.pick)
			if diff := cmp.Diff(tc.want, got); diff != "" || refusal != nil {
				t.Errorf("%s\nrefusal %+v, -want +got\n%s", tc.reason, refusal, diff)
			}
			if diff := cmp.Diff(before, d); diff != "" {
				t.Errorf("changed its argument: %s", diff)
			}
		})
	}
}

func TestPick(t *testing.T) {
	ports := []v1alpha1.BarPort{port("http", 80, "TCP"), port("dns", 53, "UDP"), port("", 53, "TCP")}
	many := func(count int32) (ports []v1alpha1.BarPort) {
		for number := range count {
			ports = append(ports, port("", number+1, "TCP"))
		}
		return ports
	}
	cases := map[string]struct {
		reason  string
		ports   []v1alpha1.BarPort
		pick    string
		want    []v1alpha1.BarPort
		refused string // part of the message
	}{
		"All":        {reason: "Without a choice all are taken.", ports: ports, want: ports},
		"ByName":     {reason: "A name picks one.", ports: ports, pick: "http", want: ports[:1]},
		"ByNumber":   {reason: "A number picks the port of each protocol.", ports: ports, pick: "53", want: ports[1:]},
		"None":       {reason: "What is offered is said.", ports: ports, pick: "https", refused: `"https", which is none of 80 (http), 53 (dns), 53`},
		"NotANumber": {reason: "053 is no name and no number.", ports: ports, pick: "053", refused: "which is none of"},
		"Long":       {reason: "What cannot be a name is not shown in full.", ports: ports, pick: strings.Repeat("x", 261940), refused: `picks port "` + strings.Repeat("x", 61) + `…", which`},
		"Many":       {reason: "A Bar has no more.", ports: many(100), want: many(100)},
		"TooMany":    {reason: "The tenant cannot see that the Bar is invalid.", ports: many(101), refused: "at most 100 ports, and the source has 101: set controlee.dev/bar-port"},
		"OneOfMany":  {reason: "One of many is one.", ports: many(101), pick: "7", want: many(7)[6:]},
		"Twice": {
			reason: "A number that is listed twice is one port, and each of its names is offered once.",
			ports:  append(many(100), port("again", 1, "TCP"), port("again", 1, "TCP")), want: many(100),
		},
		"Offered": {reason: "All names are offered.", ports: []v1alpha1.BarPort{port("a", 1, "TCP"), port("b", 1, "TCP"), port("b", 1, "UDP")}, pick: "x", refused: "none of 1 (a), 1 (b)"},
		"NoPorts": {reason: "There is nothing to pick from.", pick: "80", refused: "has no ports"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, refusal := pick(tc.ports, tc.pick)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if (refusal != nil) != (tc.refused != "") || refusal != nil && !strings.Contains(refusal.message, tc.refused) {
				t.Errorf("%s\nrefusal %+v", tc.reason, refusal)
			}
		})
	}
}

func TestNameAll(t *testing.T) {
	cases := map[string]struct {
		reason string
		ports  []v1alpha1.BarPort
		want   []string
	}{
		"One":       {reason: "A single port needs no name.", ports: []v1alpha1.BarPort{port("", 80, "TCP")}, want: []string{""}},
		"Named":     {reason: "Names of its own stay.", ports: []v1alpha1.BarPort{port("b", 80, "TCP"), port("a", 81, "TCP")}, want: []string{"b", "a"}},
		"Unnamed":   {reason: "A name is made of what tells ports apart.", ports: []v1alpha1.BarPort{port("", 53, "TCP"), port("", 53, "UDP")}, want: []string{"tcp-53", "udp-53"}},
		"Twice":     {reason: "Two containers may use one name; the first keeps it.", ports: []v1alpha1.BarPort{port("web", 80, "TCP"), port("web", 81, "TCP")}, want: []string{"web", "tcp-81"}},
		"Collision": {reason: "Somebody may have that name already.", ports: []v1alpha1.BarPort{port("", 80, "TCP"), port("tcp-80", 81, "TCP")}, want: []string{"tcp-80x", "tcp-80"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range nameAll(tc.ports) {
				got = append(got, p.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
