package tenancy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// A replica that was ready once stays ready: what comes later is the trouble of one Tenant.
func TestReadinessLatches(t *testing.T) {
	r := NewRegistry(Options{})
	ready := func(want bool) {
		t.Helper()
		if err := r.Synced(nil); (err == nil) != want {
			t.Errorf("ready is %v, want %v: %v", err == nil, want, err)
		}
	}
	ready(false)
	r.Assign(Assignment{Tenants: map[string]string{"x": "a"}})
	ready(false)
	r.set(r.engagements["x"], State{State: v1alpha1.NamespaceRefused, Reason: v1alpha1.ReasonAccessDenied}, nil)
	ready(true)
	r.Assign(Assignment{Tenants: map[string]string{"x": "a", "hangs": "b"}})
	ready(true)
	if got := r.States("b")["hangs"].State; got != v1alpha1.NamespacePending {
		t.Errorf("the namespace is %s to its Tenant", got)
	}
}

func TestNamespacesMetric(t *testing.T) {
	r := NewRegistry(Options{})
	r.Assign(Assignment{
		Tenants: map[string]string{"x": "a", "y": "a", "z": "b"},
		Refused: map[string]map[string]Refusal{"c": {"x": {}, system: {}}},
	})
	r.set(r.engagements["x"], State{State: v1alpha1.NamespaceEngaged}, &Namespace{Name: "x"})
	r.set(r.engagements["y"], State{State: v1alpha1.NamespaceRefused}, nil)
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(&collector{registry: r}); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "controlee_namespaces" {
		t.Fatalf("%v, %v", families, err)
	}
	got := map[string]float64{}
	for _, metric := range families[0].GetMetric() {
		got[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
	}
	if diff := cmp.Diff(map[string]float64{"Engaged": 1, "Pending": 1, "Refused": 3}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !strings.Contains(families[0].GetHelp(), "Engaged") {
		t.Error("the help does not name the states")
	}
}
