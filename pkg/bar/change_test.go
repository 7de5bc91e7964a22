package bar

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// changingClass makes a BarClass for one test.
func changingClass(t *testing.T, name string) *v1alpha1.BarClass {
	t.Helper()
	class := &v1alpha1.BarClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.BarClassSpec{Provider: v1alpha1.BarProvider{
			Type: v1alpha1.ServiceProvider, Service: &v1alpha1.ServiceProviderSpec{Type: corev1.ServiceTypeLoadBalancer},
		}},
	}
	if err := server.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	return class
}

func changeClass(t *testing.T, class *v1alpha1.BarClass, change func(*v1alpha1.BarProvider)) {
	t.Helper()
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
		t.Fatal(err)
	}
	change(&class.Spec.Provider)
	if err := server.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
}

// A setting that a live Service cannot take gives a second one, which is ready before the first one goes; any other is changed in place.
func TestSettingsChange(t *testing.T) {
	class := changingClass(t, "settings")
	bar := newBar(t, newNamespace(t, "settings"), "web", "settings")
	r := newReconciler(server)
	settle(t, r, bar)
	playCloud(t, "settings", "203.0.113.1")
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseReady, v1alpha1.ReasonProvisioned)
	first := services(t, "settings")[0]

	changeClass(t, class, func(p *v1alpha1.BarProvider) { p.Service.Annotations = map[string]string{"example.com/pool": "b"} })
	settle(t, r, bar)
	if now := services(t, "settings"); len(now) != 1 || now[0].UID != first.UID || now[0].Annotations["example.com/pool"] != "b" {
		t.Errorf("not changed in place: %+v", now)
	}
	changeClass(t, class, func(p *v1alpha1.BarProvider) { p.Service.LoadBalancerClass = ptr.To("example.com/lb") })
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseProvisioning, v1alpha1.ReasonAddressPending)
	if now := services(t, "settings"); len(now) != 2 || bar.Status.Addresses[0].Value != "203.0.113.1" {
		t.Errorf("the first one does not serve on: %d Services, addresses %+v", len(now), bar.Status.Addresses)
	}
	playCloud(t, "settings", "203.0.113.2")
	settle(t, r, bar)
	expect(t, bar, v1alpha1.PhaseReady, v1alpha1.ReasonProvisioned)
	if now := services(t, "settings"); len(now) != 1 || now[0].UID == first.UID || bar.Status.Addresses[0].Value != "203.0.113.2" {
		t.Errorf("%d Services, addresses %+v", len(now), bar.Status.Addresses)
	}
}

// A hundred changes in a row, none of which gets ready, leave what serves and the last one.
func TestManyChangesLeakNothing(t *testing.T) {
	class := changingClass(t, "restless")
	bar := newBar(t, newNamespace(t, "restless"), "web", "internal")
	r := newReconciler(server)
	settle(t, r, bar)
	change(t, bar, toClass("restless"))
	for i := range 100 {
		changeClass(t, class, func(p *v1alpha1.BarProvider) {
			p.Service.LoadBalancerClass = ptr.To(fmt.Sprintf("example.com/lb-%d", i))
		})
		if err := reconcileOnce(r, bar); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, r, bar)
	if now := services(t, "restless"); len(now) != 2 || len(bar.Status.Targets) != 2 || !bar.Status.Targets[0].Serving {
		t.Errorf("%d Services, targets %+v", len(now), bar.Status.Targets)
	}
	change(t, bar, released)
	settle(t, r, bar)
	if reload(t, bar) || len(services(t, "restless")) != 0 {
		t.Error("something is left")
	}
}

// What was done is told as Events about the Bar, once for each change.
func TestEvents(t *testing.T) {
	bar := newBar(t, newNamespace(t, "events"), "web", "internal")
	r := newReconciler(server)
	recorder := events.NewFakeRecorder(100)
	r.Recorder = recorder
	settle(t, r, bar)
	change(t, bar, toClass("nowhere"))
	settle(t, r, bar)
	change(t, bar, released)
	settle(t, r, bar)
	close(recorder.Events)
	var told []string
	for event := range recorder.Events {
		told = append(told, strings.Join(strings.Fields(event)[:2], " "))
	}
	want := []string{"Normal Created", "Normal Provisioned", "Warning BarClassNotFound", "Normal Deleted"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestMetrics(t *testing.T) {
	bar := newBar(t, newNamespace(t, "metrics"), "web", "public")
	settle(t, newReconciler(server), bar)
	registry := prometheus.NewRegistry()
	if err := registry.Register(&collector{bars: &finder{reader: server, namespace: system}}); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatal(families, err)
	}
	for _, metric := range families[0].GetMetric() {
		labels := map[string]string{}
		for _, label := range metric.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		if labels["class"] == "public" && labels["phase"] == string(v1alpha1.PhaseProvisioning) && metric.GetGauge().GetValue() >= 1 {
			return
		}
	}
	t.Errorf("not counted: %v", families[0])
}

// A class can go through all types of Service and back; TCP and UDP share a port number throughout.
func TestTypeChange(t *testing.T) {
	class := changingClass(t, "types")
	bar := newBar(t, newNamespace(t, "types"), "dns", "types")
	change(t, bar, func(spec *v1alpha1.BarSpec) {
		spec.Ports = []v1alpha1.BarPort{{Name: "dns", Port: 53, Protocol: corev1.ProtocolTCP}, {Name: "dns-udp", Port: 53, Protocol: corev1.ProtocolUDP}}
	})
	r := newReconciler(server)
	local := corev1.ServiceExternalTrafficPolicyLocal
	steps := []v1alpha1.ServiceProviderSpec{
		{Type: corev1.ServiceTypeClusterIP},
		{Type: corev1.ServiceTypeNodePort, ExternalTrafficPolicy: local},
		{Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: local, SourceRanges: []string{"192.0.2.0/24"}},
		{Type: corev1.ServiceTypeNodePort},
		{Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: local},
		{Type: corev1.ServiceTypeClusterIP},
	}
	for i, step := range steps {
		changeClass(t, class, func(p *v1alpha1.BarProvider) { p.Service = &step })
		settle(t, r, bar)
		if bar.Status.Phase == v1alpha1.PhaseFailed {
			t.Fatalf("step %d to %s: %+v", i, step.Type, bar.Status.Conditions)
		}
		all := services(t, "types")
		if len(all) != 1 {
			t.Fatalf("step %d: %d Services", i, len(all))
		}
		spec := &all[0].Spec
		if spec.Type != step.Type || len(spec.Ports) != 2 || !slices.Equal(spec.LoadBalancerSourceRanges, step.SourceRanges) ||
			(spec.ExternalTrafficPolicy == local) != (step.ExternalTrafficPolicy == local) {
			t.Errorf("step %d: %+v", i, spec)
		}
	}
}
