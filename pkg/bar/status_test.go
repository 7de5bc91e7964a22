package bar

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

var (
	then  = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	now   = metav1.NewTime(then.Add(time.Hour))
	class = &v1alpha1.BarClass{
		ObjectMeta: metav1.ObjectMeta{Name: "internal"},
		Spec:       v1alpha1.BarClassSpec{Provider: v1alpha1.BarProvider{Type: v1alpha1.ServiceProvider}},
	}
)

// partOf makes a part that wants a Service, which exists if it has a UID.
func partOf(name string, uid types.UID) part {
	wanted := &unstructured.Unstructured{Object: map[string]any{}}
	wanted.SetAPIVersion("v1")
	wanted.SetKind("Service")
	wanted.SetNamespace("team-a")
	wanted.SetName(name)
	return part{Object: wanted, live: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: uid}}}
}

func targetOf(name string, state v1alpha1.TargetState, changes ...func(*v1alpha1.BarTarget)) v1alpha1.BarTarget {
	target := v1alpha1.BarTarget{
		Version: "v1", Kind: "Service", Namespace: "team-a", Name: name, State: state, ClassName: "internal", Provider: "Service", Since: then,
	}
	if state != v1alpha1.TargetPlanned {
		target.UID = types.UID("uid-" + name)
	}
	for _, change := range changes {
		change(&target)
	}
	return target
}

func served(t *v1alpha1.BarTarget)  { t.Serving = true }
func justNow(t *v1alpha1.BarTarget) { t.Since = now }

func TestPlanned(t *testing.T) {
	exclusive := partOf("a", "")
	exclusive.exclusive = &provider.Exclusive{Key: "hostname/a"}
	cases := map[string]struct {
		reason  string
		targets []v1alpha1.BarTarget
		parts   []part
		want    []v1alpha1.BarTarget
	}{
		"New": {
			reason: "What is wanted for the first time is planned, with what only one can have.",
			parts:  []part{exclusive},
			want:   []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetPlanned, justNow, func(t *v1alpha1.BarTarget) { t.Holds = "hostname/a" })},
		},
		"Planned": {
			reason:  "A plan stays, whether its object exists or not.",
			targets: []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetPlanned), targetOf("b", v1alpha1.TargetPlanned)},
			parts:   []part{partOf("a", ""), partOf("b", "uid-b")},
			want:    []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetPlanned), targetOf("b", v1alpha1.TargetPlanned)},
		},
		"Applied": {
			reason:  "What is as it was recorded needs no plan.",
			targets: []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetApplied)},
			parts:   []part{partOf("a", "uid-a")},
			want:    []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetApplied)},
		},
		"Gone": {
			reason:  "To make again what somebody deleted is planned as the first time; that it has served stays known.",
			targets: []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetApplied, served)},
			parts:   []part{partOf("a", "")},
			want:    []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetPlanned, served, justNow)},
		},
		"Another": {
			reason:  "An object of the name with another UID is not the one that was recorded.",
			targets: []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetApplied)},
			parts:   []part{partOf("a", "uid-x")},
			want:    []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetPlanned, justNow)},
		},
		"WantedAgain": {
			reason:  "What was being deleted and is wanted again is planned: it may be gone by now.",
			targets: []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetDeleting)},
			parts:   []part{partOf("a", "uid-a")},
			want:    []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetPlanned, justNow)},
		},
		"Others": {
			reason:  "What is no longer wanted stays recorded until it is gone.",
			targets: []v1alpha1.BarTarget{targetOf("old", v1alpha1.TargetApplied, served)},
			parts:   []part{partOf("a", "")},
			want:    []v1alpha1.BarTarget{targetOf("old", v1alpha1.TargetApplied, served), targetOf("a", v1alpha1.TargetPlanned, justNow)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := append([]v1alpha1.BarTarget(nil), tc.targets...)
			if diff := cmp.Diff(tc.want, planned(tc.targets, tc.parts, class, now)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, append([]v1alpha1.BarTarget(nil), tc.targets...)); diff != "" {
				t.Errorf("the argument was changed: -before +after\n%s", diff)
			}
		})
	}
}

func TestSuperseded(t *testing.T) {
	targets := []v1alpha1.BarTarget{
		targetOf("serves", v1alpha1.TargetApplied, served),
		targetOf("never", v1alpha1.TargetApplied),
		targetOf("planned", v1alpha1.TargetPlanned),
		targetOf("going", v1alpha1.TargetDeleting, served),
		targetOf("wanted", v1alpha1.TargetApplied),
	}
	names := func(targets []v1alpha1.BarTarget) (all []string) {
		for _, target := range targets {
			all = append(all, target.Name)
		}
		return all
	}
	parts := []part{partOf("wanted", "uid-wanted")}
	if diff := cmp.Diff([]string{"never", "planned"}, names(superseded(targets, parts, false))); diff != "" {
		t.Errorf("before the new one is ready the one that serves stays: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"serves", "never", "planned"}, names(superseded(targets, parts, true))); diff != "" {
		t.Errorf("once the new one is ready all others go: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"serves", "never", "planned", "wanted"}, names(everything(targets))); diff != "" {
		t.Errorf("a release takes all: -want +got\n%s", diff)
	}
}

func TestConcluded(t *testing.T) {
	address := []v1alpha1.BarAddress{{Type: v1alpha1.IPAddressType, Value: "10.0.0.1"}}
	fresh := []v1alpha1.BarAddress{{Type: v1alpha1.IPAddressType, Value: "10.0.0.2"}}
	parts := []part{partOf("a", "uid-a")}
	type want struct {
		phase     v1alpha1.BarPhase
		reason    string
		addresses []v1alpha1.BarAddress
		serving   bool
	}
	cases := map[string]struct {
		reason  string
		targets []v1alpha1.BarTarget
		seen    provider.Observation
		refused *retry.Refusal
		want    want
	}{
		"Ready": {
			reason:  "It is ready where the provider says so, and what is wanted has served from now on.",
			targets: []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetApplied)},
			seen:    provider.Observation{Ready: true, Reason: "Provisioned", Addresses: fresh},
			want:    want{v1alpha1.PhaseReady, "Provisioned", fresh, true},
		},
		"Waiting": {
			reason:  "Without an address of its own it has none.",
			targets: []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetApplied)},
			seen:    provider.Observation{Reason: "AddressPending"},
			want:    want{v1alpha1.PhaseProvisioning, "AddressPending", nil, false},
		},
		"WaitingBesideTheOld": {
			reason:  "While the old one serves its addresses are the ones.",
			targets: []v1alpha1.BarTarget{targetOf("old", v1alpha1.TargetApplied, served), targetOf("a", v1alpha1.TargetApplied)},
			seen:    provider.Observation{Reason: "AddressPending"},
			want:    want{v1alpha1.PhaseProvisioning, "AddressPending", address, false},
		},
		"LostItsAddress": {
			reason:  "One that has served and lost its address has none.",
			targets: []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetApplied, served)},
			seen:    provider.Observation{Reason: "AddressPending"},
			want:    want{v1alpha1.PhaseProvisioning, "AddressPending", nil, true},
		},
		"Refused": {
			reason:  "What exists answers as before.",
			targets: []v1alpha1.BarTarget{targetOf("a", v1alpha1.TargetApplied, served)},
			refused: &retry.Refusal{Reason: "HostnameTaken", Message: "taken"},
			want:    want{v1alpha1.PhaseFailed, "HostnameTaken", address, true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			bar := &v1alpha1.Bar{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Status: v1alpha1.BarStatus{Phase: v1alpha1.PhaseProvisioning, Addresses: address}}
			status := concluded(bar, tc.targets, parts, tc.seen, tc.refused)
			got := want{status.Phase, status.Conditions[0].Reason, status.Addresses, status.Targets[len(status.Targets)-1].Serving}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if ready := status.Conditions[0].Status == metav1.ConditionTrue; ready != (tc.want.phase == v1alpha1.PhaseReady) || status.ObservedGeneration != 3 {
				t.Errorf("condition %+v, generation %d", status.Conditions[0], status.ObservedGeneration)
			}
			bar.Status = status
			if diff := cmp.Diff(status, concluded(bar, status.Targets, parts, tc.seen, tc.refused)); diff != "" {
				t.Errorf("written once, it would be written again: -first +second\n%s", diff)
			}
		})
	}
}

func TestReleasing(t *testing.T) {
	object := func(name string, finalizers ...string) client.Object {
		service := partOf(name, "uid-"+types.UID(name)).live
		service.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
		service.SetFinalizers(finalizers)
		return service
	}
	cases := map[string]struct {
		reason string
		left   []client.Object
		want   string
	}{
		"Begins": {reason: "Nothing is known to be in the way.", want: "Releasing: the load balancer is being taken away"},
		"Going":  {reason: "It takes its time.", left: []client.Object{object("a")}, want: "Terminating: waiting for Service a, which is being deleted"},
		"Held": {
			reason: "Somebody has to let go of each.", left: []client.Object{object("a", "x.example/x"), object("b", "y", "z")},
			want: "Terminating: waiting for Service a, which is held by finalizer x.example/x, and for Service b, which is held by finalizers y and z",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := releasing(&v1alpha1.Bar{Status: v1alpha1.BarStatus{Addresses: []v1alpha1.BarAddress{{}}}}, nil, tc.left, nil)
			if condition := got.Conditions[0]; condition.Reason+": "+condition.Message != tc.want || got.Phase != v1alpha1.PhaseReleasing || got.Addresses != nil {
				t.Errorf("%s\ngot %+v", tc.reason, got)
			}
		})
	}
}

// Each phase that can be reached at all is reached by steps that the table holds.
func TestWay(t *testing.T) {
	for _, from := range append([]v1alpha1.BarPhase{""}, v1alpha1.Phases()...) {
		for _, to := range v1alpha1.Phases() {
			steps := way(from, to)
			last := from
			for _, step := range steps {
				if !v1alpha1.CanTransition(last, step) || last == step {
					t.Errorf("%s to %s by %v: the table has no step from %s to %s", from, to, steps, last, step)
				}
				last = step
			}
			unreachable := from == v1alpha1.PhaseReleasing || (from != "" && to == v1alpha1.PhasePending)
			if from != to && unreachable != (len(steps) == 0) || len(steps) > 0 && last != to {
				t.Errorf("%s to %s by %v", from, to, steps)
			}
		}
	}
}

func TestRefusalOf(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	terminating := apierrors.NewForbidden(services, "a", errors.New("namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	cases := map[string]struct {
		reason string
		err    error
		want   string // the reason; empty: the error may pass
		again  bool   // whether it is tried again by itself
	}{
		"Nothing":      {"No error, no refusal.", nil, "", false},
		"Provider":     {"The provider says why.", provider.Refuse("PortNotChosen", "choose"), "PortNotChosen", false},
		"Foreign":      {"Its deletion is an event.", fmt.Errorf("wrapped: %w", &apply.ForeignError{Kind: "Service", Name: "a"}), v1alpha1.ReasonConflict, false},
		"NotInstalled": {"When the kind appears all Bars are looked at.", &tenancy.NotInstalledError{}, v1alpha1.ReasonKindNotInstalled, false},
		"Quota":        {"Room that is made sends no event.", apierrors.NewForbidden(services, "a", errors.New("exceeded quota")), v1alpha1.ReasonRefused, true},
		"Invalid":      {"So does a policy that is changed.", apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "a", nil), v1alpha1.ReasonRefused, true},
		"Terminating":  {"The Bar goes with the namespace.", terminating, v1alpha1.ReasonRefused, false},
		"NoRight":      {"A missing right is the namespace's matter.", apierrors.NewForbidden(services, "a", errors.New(`User "x" cannot patch resource`)), "", false},
		"Timeout":      {"It may pass.", apierrors.NewTimeoutError("", 1), "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := refusalOf(tc.err)
			switch {
			case tc.want == "" && (got != nil || !errors.Is(err, tc.err)):
				t.Errorf("%s\ngot %+v and %v", tc.reason, got, err)
			case tc.want != "" && (got == nil || err != nil || got.Reason != tc.want || (got.After > 0) != tc.again || strings.TrimSpace(got.Message) == "" && name != "NotInstalled"):
				t.Errorf("%s\ngot %+v and %v", tc.reason, got, err)
			}
		})
	}
}
