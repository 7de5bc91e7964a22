package gateway

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/provider/providertest"
)

func TestDesiredGolden(t *testing.T) {
	providertest.Golden(t, Provider{})
}

func bar(changes ...func(*v1alpha1.BarSpec)) *v1alpha1.Bar {
	spec := v1alpha1.BarSpec{
		SourceRef: v1alpha1.BarSourceReference{APIGroup: "apps", Kind: v1alpha1.SourceDeployment, Namespace: "team-a", Name: "web", UID: "uid-web"},
		Tenant:    "a", ClassName: "public",
		Ports:    []v1alpha1.BarPort{{Name: "http", Port: 80, Protocol: "TCP"}},
		Selector: map[string]string{"app": "web"},
	}
	for _, change := range changes {
		change(&spec)
	}
	return providertest.NewBar(spec)
}

func class(changes ...func(*v1alpha1.GatewayProviderSpec)) *v1alpha1.BarClass {
	settings := v1alpha1.GatewayProviderSpec{
		ParentRef: v1alpha1.GatewayReference{Namespace: "infra", Name: "public", SectionName: "https"}, HostnameTemplate: "{name}.{namespace}.example.com",
	}
	for _, change := range changes {
		change(&settings)
	}
	return providertest.NewClass(v1alpha1.BarProvider{Type: v1alpha1.GatewayProvider, Gateway: &settings})
}

func TestDesiredRefuses(t *testing.T) {
	named := func(name string) func(*v1alpha1.BarSpec) {
		return func(s *v1alpha1.BarSpec) { s.SourceRef.Name = name }
	}
	cases := map[string]struct {
		reason string
		bar    *v1alpha1.Bar
		class  *v1alpha1.BarClass
		want   string // the refusal's reason
		says   string // a part of its message
	}{
		"TwoPorts": {
			reason: "A route has one backend port; which one is the tenant's to say.",
			bar:    bar(func(s *v1alpha1.BarSpec) { s.Ports = append(s.Ports, v1alpha1.BarPort{Name: "admin", Port: 81}) }),
			class:  class(), want: v1alpha1.ReasonPortNotChosen, says: v1alpha1.BarPortAnnotation,
		},
		"UDP": {
			reason: "None of the routes carries UDP.",
			bar:    bar(func(s *v1alpha1.BarSpec) { s.Ports[0].Protocol = "UDP" }),
			class:  class(), want: v1alpha1.ReasonProtocolNotSupported, says: "port 80 is UDP",
		},
		"LongLabel": {
			reason: "A part of a DNS name has 63 characters at most.",
			bar:    bar(named(strings.Repeat("x", 64))),
			class:  class(), want: v1alpha1.ReasonHostnameInvalid, says: "give the Deployment another name",
		},
		"LabelByTemplate": {
			reason: "Two names that are fine alone can be too long together.",
			bar:    bar(named(strings.Repeat("x", 60))),
			class:  class(func(s *v1alpha1.GatewayProviderSpec) { s.HostnameTemplate = "{name}-{namespace}.example.com" }),
			want:   v1alpha1.ReasonHostnameInvalid, says: "63",
		},
		"LongName": {
			reason: "A DNS name has 253 characters at most.",
			bar:    bar(named(strings.Repeat("x.", 120) + "x")),
			class:  class(), want: v1alpha1.ReasonHostnameInvalid, says: "253",
		},
		"NoSelector": {
			reason: "The Service of a Deployment needs Pods.",
			bar:    bar(func(s *v1alpha1.BarSpec) { s.Selector = nil }),
			class:  class(), want: v1alpha1.ReasonNoSelector, says: "selector",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Provider{}.Desired(tc.bar, tc.class)
			var refused *provider.RefusalError
			if !errors.As(err, &refused) || refused.Reason != tc.want || !strings.Contains(refused.Message, tc.says) {
				t.Errorf("%s\ngot %v, want %s with %q", tc.reason, err, tc.want, tc.says)
			}
		})
	}
}

// What must not be changed in a live route, since the Gateway would stop to serve it, gives another
// route.
func TestRouteNames(t *testing.T) {
	nameOf := func(change func(*v1alpha1.GatewayProviderSpec)) string {
		objects, err := Provider{}.Desired(bar(), class(change))
		if err != nil {
			t.Fatal(err)
		}
		return objects[1].GetName()
	}
	same := nameOf(func(*v1alpha1.GatewayProviderSpec) {})
	cases := map[string]func(*v1alpha1.GatewayProviderSpec){
		"Gateway":   func(s *v1alpha1.GatewayProviderSpec) { s.ParentRef.Name = "other" },
		"Namespace": func(s *v1alpha1.GatewayProviderSpec) { s.ParentRef.Namespace = "other" },
		"Listener":  func(s *v1alpha1.GatewayProviderSpec) { s.ParentRef.SectionName = "other" },
		"Kind":      func(s *v1alpha1.GatewayProviderSpec) { s.RouteKind = v1alpha1.TLSRouteKind },
		"Hostname":  func(s *v1alpha1.GatewayProviderSpec) { s.HostnameTemplate = "{name}.example.net" },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			if nameOf(change) == same {
				t.Error("the route has the same name")
			}
		})
	}
}

func TestObserve(t *testing.T) {
	parent := func(conditions string) string {
		return "parents:\n- controllerName: example.com/gateway\n  parentRef: {namespace: infra, name: public, sectionName: https}\n  conditions:\n" + conditions
	}
	const (
		yes   = "  - {type: Accepted, status: 'True', reason: Accepted, message: '', observedGeneration: 2}\n"
		early = "  - {type: Accepted, status: 'True', reason: Accepted, message: '', observedGeneration: 1}\n"
		mute  = "  - {type: Accepted, status: 'True', reason: Accepted, message: ''}\n"
		no    = "  - {type: Accepted, status: 'False', reason: NotAllowedByListeners, message: wrong namespace, observedGeneration: 2}\n"
		lost  = "  - {type: ResolvedRefs, status: 'False', reason: BackendNotFound, message: no Service, observedGeneration: 2}\n"
		found = "  - {type: ResolvedRefs, status: 'True', reason: ResolvedRefs, message: '', observedGeneration: 2}\n"
	)
	other := strings.ReplaceAll(parent(yes), "name: public", "name: other")
	by := func(controller, conditions string) string { // another entry
		_, entry, _ := strings.Cut(parent(conditions), "\n")
		return strings.Replace(entry, "example.com/gateway", controller, 1)
	}
	with := func(more string) string {
		return strings.Replace(parent(yes), "sectionName: https}", "sectionName: https, "+more+"}", 1)
	}
	host := []v1alpha1.BarAddress{{Type: v1alpha1.HostnameAddressType, Value: "web.team-a.example.com"}}
	cases := map[string]struct {
		reason string
		status string
		want   string
		says   string
		ready  bool
	}{
		"Nothing":      {"No controller has answered.", "", v1alpha1.ReasonRoutePending, "listener https of Gateway infra/public", false},
		"OtherParent":  {"What another Gateway says does not count.", other, v1alpha1.ReasonRoutePending, "waiting", false},
		"OldAnswer":    {"An answer to an earlier spec does not count.", parent(early), v1alpha1.ReasonRoutePending, "waiting", false},
		"Accepted":     {"Taken, and nothing is known to be wrong.", parent(yes), v1alpha1.ReasonProvisioned, "serves", true},
		"NoGeneration": {"Some controllers do not say which generation they mean.", parent(mute), v1alpha1.ReasonProvisioned, "serves", true},
		"Resolved":     {"Taken, and its backend is known.", parent(yes + found), v1alpha1.ReasonProvisioned, "serves", true},
		"NotAccepted":  {"The tenant is told what the Gateway says.", parent(no), v1alpha1.ReasonRouteNotAccepted, "NotAllowedByListeners: wrong namespace", false},
		"NotResolved":  {"Taken, but it leads nowhere.", parent(yes + lost), v1alpha1.ReasonBackendNotResolved, "BackendNotFound: no Service", false},
		"OtherPort":    {"An entry for one port of the listener is another reference.", with("port: 8443"), v1alpha1.ReasonRoutePending, "waiting", false},
		"OtherKind":    {"A route can be attached to a Service of the Gateway's name.", with("group: '', kind: Service"), v1alpha1.ReasonRoutePending, "waiting", false},
		"Defaults":     {"Group and kind may be written out.", with("group: gateway.networking.k8s.io, kind: Gateway"), v1alpha1.ReasonProvisioned, "serves", true},
		"Replaced": {
			"The entry of the controller that served the Gateway before says nothing of the present one.",
			parent(no) + by("old.example.com/gateway", yes), v1alpha1.ReasonRouteNotAccepted,
			"disagree about the route at listener https of Gateway infra/public: old.example.com/gateway accepts the route, example.com/gateway does not: NotAllowedByListeners: wrong namespace", false,
		},
		"ReplacedInOtherOrder": {
			"The order of the entries decides nothing.",
			parent(yes) + by("new.example.com/gateway", no), v1alpha1.ReasonRouteNotAccepted, "example.com/gateway accepts the route, new.example.com/gateway does not", false,
		},
		"OldEntryOfAnother": {
			"An entry of an earlier generation does not count where there is one of the present.",
			parent(no) + by("old.example.com/gateway", early), v1alpha1.ReasonRouteNotAccepted, "does not take the route: NotAllowedByListeners", false,
		},
		"OldRefusalOfAnother": {
			"Neither does an old refusal.",
			parent(yes) + by("old.example.com/gateway", strings.ReplaceAll(no, "observedGeneration: 2", "observedGeneration: 1")), v1alpha1.ReasonProvisioned, "serves", true,
		},
		"UndatedOfAnother": {
			"An entry that does not name its generation may be of any.",
			parent(no) + by("old.example.com/gateway", mute), v1alpha1.ReasonRouteNotAccepted, "does not take the route", false,
		},
		"AllAgree":    {"Two controllers serve the Gateway while one replaces the other.", parent(yes) + by("old.example.com/gateway", yes), v1alpha1.ReasonProvisioned, "serves", true},
		"OneResolves": {"One of both leads nowhere.", parent(yes+lost) + by("old.example.com/gateway", yes+found), v1alpha1.ReasonBackendNotResolved, "BackendNotFound", false},
		"Malformed":   {"A controller that does not keep to the API harms nobody.", "parents: [{parentRef: 3}, 4]", v1alpha1.ReasonRoutePending, "waiting", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			route := &unstructured.Unstructured{Object: map[string]any{}}
			status := map[string]any{}
			if err := yaml.Unmarshal([]byte(tc.status), &status); err != nil {
				t.Fatal(err)
			}
			integers(status)
			route.Object["status"] = status
			route.SetGeneration(2)
			got := Provider{}.Observe(bar(), class(), []client.Object{&metav1.PartialObjectMetadata{}, route})
			if got.Reason != tc.want || got.Ready != tc.ready || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s\ngot %+v, want %s with %q", tc.reason, got, tc.want, tc.says)
			}
			var want []v1alpha1.BarAddress
			if tc.ready {
				want = host
			}
			if diff := cmp.Diff(want, got.Addresses); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// integers turns the numbers of YAML into those of objects from the API server.
func integers(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if number, ok := inner.(float64); ok {
				value[key] = int64(number)
			}
			integers(inner)
		}
	case []any:
		for _, inner := range value {
			integers(inner)
		}
	}
}

// The address of a TCPRoute is the Gateway's, which the operator may not read.
func TestObserveTCPRoute(t *testing.T) {
	tcp := class(func(s *v1alpha1.GatewayProviderSpec) { s.RouteKind, s.HostnameTemplate = v1alpha1.TCPRouteKind, "" })
	route := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"parents": []any{map[string]any{
		"parentRef":  map[string]any{"namespace": "infra", "name": "public", "sectionName": "https"},
		"conditions": []any{map[string]any{"type": "Accepted", "status": "True", "observedGeneration": int64(1)}},
	}}}}}
	got := Provider{}.Observe(bar(), tcp, []client.Object{&metav1.PartialObjectMetadata{}, route})
	if !got.Ready || got.Addresses != nil || !strings.Contains(got.Message, "its address is the Gateway's") {
		t.Errorf("got %+v", got)
	}
}

// The exclusive names of a route are those that its own Bar would take, and those of routes that
// nobody's Bar made.
func TestUses(t *testing.T) {
	cases := map[string]struct {
		reason, route string
		want          []string
	}{
		"HTTPRoute":  {"Each host name is one.", `{kind: HTTPRoute, spec: {hostnames: [a.example.com, B.example.com]}}`, []string{"hostname/a.example.com", "hostname/b.example.com"}},
		"TLSRoute":   {"A host name is one whatever the kind of route.", `{kind: TLSRoute, spec: {hostnames: [a.example.com]}}`, []string{"hostname/a.example.com"}},
		"Wildcard":   {"A route that names the host goes before the wildcard.", `{kind: HTTPRoute, spec: {hostnames: ["*.example.com"]}}`, nil},
		"NoHostname": {"So it does before a route for all hosts.", `{kind: HTTPRoute, spec: {parentRefs: [{name: public, namespace: infra}]}}`, nil},
		"TCPRoute": {
			"A listener is the TCPRoute's alone; the namespace defaults to the route's.",
			`{kind: TCPRoute, metadata: {namespace: team-a}, spec: {parentRefs: [{name: public, namespace: infra, sectionName: db}, {name: own}, {kind: Service, group: "", name: web}]}}`,
			[]string{"listener/infra/public/db", "listener/team-a/own/"},
		},
		"Malformed":  {"What does not fit is left out.", `{kind: HTTPRoute, spec: {hostnames: 3}}`, nil},
		"OtherGroup": {"Another group's HTTPRoute is another kind.", `{apiVersion: example.com/v1, kind: HTTPRoute, spec: {hostnames: [a.example.com]}}`, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			route := &unstructured.Unstructured{Object: map[string]any{"apiVersion": Group + "/v1"}}
			if err := yaml.Unmarshal([]byte(tc.route), &route.Object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, Provider{}.Uses(route)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// What a Bar takes is what its route uses: else its own route would not protect it.
func TestDesiredUsesWhatItTakes(t *testing.T) {
	for name, of := range map[string]*v1alpha1.BarClass{
		"HTTPRoute": class(),
		"TLSRoute":  class(func(s *v1alpha1.GatewayProviderSpec) { s.RouteKind = v1alpha1.TLSRouteKind }),
		"TCPRoute":  class(func(s *v1alpha1.GatewayProviderSpec) { s.RouteKind, s.HostnameTemplate = v1alpha1.TCPRouteKind, "" }),
	} {
		objects, err := Provider{}.Desired(bar(), of)
		if err != nil {
			t.Fatal(err)
		}
		route := objects[len(objects)-1]
		if got := (Provider{}).Uses(route.Unstructured); len(got) != 1 || got[0] != route.Exclusive.Key {
			t.Errorf("%s uses %q and takes %q", name, got, route.Exclusive.Key)
		}
	}
}
