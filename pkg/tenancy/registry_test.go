package tenancy

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// A trouble that lasts is written into the status of the Tenant once, however often it is tried again: the texts of some errors differ at
// each try.
func TestATroubleThatLastsNotifiesOnce(t *testing.T) {
	pending := func(text string) State {
		return State{State: v1alpha1.NamespacePending, Reason: v1alpha1.ReasonCacheNotSynced, Message: text}
	}
	cases := map[string]struct {
		reason        string
		first, second State
		want          bool // whether the second one is a change
	}{
		"Port": {
			reason: "Each connection has a port of its own.",
			first:  pending("read tcp 127.0.0.1:53422->127.0.0.1:6443: connection reset by peer"),
			second: pending("read tcp 127.0.0.1:9018->127.0.0.1:6443: connection reset by peer"),
		},
		"Stream": {
			reason: "Each request has a stream of its own.",
			first:  pending("stream error: stream ID 15; INTERNAL_ERROR"), second: pending("stream error: stream ID 127; INTERNAL_ERROR"),
		},
		"Time": {
			reason: "An expired certificate is compared with the present time.",
			first:  pending("x509: certificate has expired: current time 2030-01-01T11:59:59Z is after 2029-12-31T00:00:00Z"),
			second: pending("x509: certificate has expired: current time 2030-01-01T12:00:14Z is after 2029-12-31T00:00:00Z"),
		},
		"Other": {
			reason: "Another trouble is news.", want: true,
			first: pending("connection reset by peer"), second: pending("connection refused"),
		},
		"State": {
			reason: "So is another state.", want: true,
			first: pending("x"), second: State{State: v1alpha1.NamespaceRefused, Reason: v1alpha1.ReasonAccessDenied, Message: "x"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := NewRegistry(Options{})
			r.Assign(Assignment{Tenants: map[string]string{"x": "a"}})
			e := r.engagements["x"]
			r.set(e, tc.first, nil)
			notified := 0
			r.notify(func(string) { notified++ })
			r.set(e, tc.second, nil)
			want := tc.first
			if tc.want {
				want = tc.second
			}
			// Any event of the Tenant has its status computed anew: the text must not change then either.
			if got := r.States("a")["x"]; got != want || (notified > 0) != tc.want {
				t.Errorf("%s\nnotified %d times, state %+v", tc.reason, notified, got)
			}
		})
	}
}

// The same goes for what a namespace is served without.
func TestAnOmissionThatLastsNotifiesOnce(t *testing.T) {
	omitted := func(text string) map[schema.GroupKind]error {
		return map[schema.GroupKind]error{tunnel.GroupKind(): errors.New(text)}
	}
	r := NewRegistry(Options{})
	r.Assign(Assignment{Tenants: map[string]string{"x": "a"}})
	e := r.engagements["x"]
	r.set(e, State{State: v1alpha1.NamespaceEngaged}, &Namespace{Name: "x"})
	r.setOmitted(e, omitted("read tcp 127.0.0.1:53422->127.0.0.1:6443"))
	first, notified := r.States("a")["x"], 0
	r.notify(func(string) { notified++ })
	r.setOmitted(e, omitted("read tcp 127.0.0.1:53423->127.0.0.1:6443"))
	if got := r.States("a")["x"]; got != first || notified > 0 {
		t.Errorf("notified %d times, state %+v", notified, got)
	}
	r.setOmitted(e, nil)
	if got := r.States("a")["x"]; got.Message != "" || notified != 1 {
		t.Errorf("notified %d times, state %+v", notified, got)
	}
}
