package v1alpha1_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/controlee/controlee/pkg/api/v1alpha1"
)

// noPhase is a Bar without a phase: a new one, or one whose phase someone would remove.
const noPhase v1alpha1.BarPhase = ""

// phasesAndNone are all sides of a change of phase.
func phasesAndNone() []v1alpha1.BarPhase {
	return append([]v1alpha1.BarPhase{noPhase}, v1alpha1.Phases()...)
}

// TestPhaseTable holds the table against the sentence in DESIGN and in the description of Bar.
func TestPhaseTable(t *testing.T) {
	t.Parallel()
	arrows := []string{
		"→Pending",
		"Pending→Provisioning", "Provisioning→Ready", "Ready→Provisioning", "Failed→Provisioning",
		"Pending→Failed", "Provisioning→Failed", "Ready→Failed",
		"Pending→Releasing", "Provisioning→Releasing", "Ready→Releasing", "Failed→Releasing",
	}
	for _, from := range phasesAndNone() {
		for _, to := range phasesAndNone() {
			arrow := fmt.Sprintf("%s→%s", from, to)
			if got, want := v1alpha1.CanTransition(from, to), from == to || slices.Contains(arrows, arrow); got != want {
				t.Errorf("CanTransition(%s) = %t, want %t", arrow, got, want)
			}
		}
	}
	if v1alpha1.CanTransition("Unknown", "Unknown") || v1alpha1.CanTransition(v1alpha1.PhasePending, "Unknown") {
		t.Error("a phase that is not in the table can be changed")
	}
}

// TestPhaseRuleIsTheTable compares the CEL map of the CRD with the Go table, as text.
func TestPhaseRuleIsTheTable(t *testing.T) {
	t.Parallel()
	var rows []string
	for _, from := range phasesAndNone() {
		row := []string{fmt.Sprintf("%q", from)}
		for _, to := range v1alpha1.Successors(from) {
			row = append(row, fmt.Sprintf("%q", to))
		}
		rows = append(rows, fmt.Sprintf("%q: [%s]", from, strings.Join(row, ", ")))
	}
	want := `(has(self.status) && has(self.status.phase) ? self.status.phase : "") in {` + strings.Join(rows, ", ") +
		`}[has(oldSelf.status) && has(oldSelf.status.phase) ? oldSelf.status.phase : ""]`

	var rules []string
	for _, rule := range rootRules(t, "bars.controlee.dev") {
		if strings.Contains(rule, "phase") {
			rules = append(rules, rule)
		}
	}
	if len(rules) != 1 || rules[0] != want {
		t.Errorf("the marker on Bar is not the table of phase.go; want the one rule\n%s\ngot\n%s", want, strings.Join(rules, "\n"))
	}
}

// TestPhaseRuleOnServer asks the API server for every change of phase, and for removing it.
func TestPhaseRuleOnServer(t *testing.T) {
	t.Parallel()
	// A way to each phase; a Bar begins without one.
	ways := map[v1alpha1.BarPhase][]v1alpha1.BarPhase{
		noPhase:                    {},
		v1alpha1.PhasePending:      {v1alpha1.PhasePending},
		v1alpha1.PhaseProvisioning: {v1alpha1.PhasePending, v1alpha1.PhaseProvisioning},
		v1alpha1.PhaseReady:        {v1alpha1.PhasePending, v1alpha1.PhaseProvisioning, v1alpha1.PhaseReady},
		v1alpha1.PhaseFailed:       {v1alpha1.PhasePending, v1alpha1.PhaseFailed},
		v1alpha1.PhaseReleasing:    {v1alpha1.PhasePending, v1alpha1.PhaseReleasing},
	}
	for i, from := range phasesAndNone() {
		bar := create(t, object(t, strings.ReplaceAll(validBar, "name: valid", fmt.Sprintf("name: phase-%d", i))))
		for _, phase := range ways[from] {
			setPhase(t, bar, phase)
			updated, err := resource(bar).UpdateStatus(t.Context(), bar, metav1.UpdateOptions{})
			if err != nil {
				t.Fatalf("bring a Bar to %q: %v", phase, err)
			}
			bar = updated
		}
		for _, to := range phasesAndNone() {
			t.Run(fmt.Sprintf("%s→%s", from, to), func(t *testing.T) {
				changed := bar.DeepCopy()
				setPhase(t, changed, to)
				checkTransition(t, from, to, update(t.Context(), changed, "status"))
			})
		}
		t.Run(fmt.Sprintf("%s→(no status)", from), func(t *testing.T) {
			changed := bar.DeepCopy()
			delete(changed.Object, "status")
			checkTransition(t, from, noPhase, update(t.Context(), changed, "status"))
		})
	}
}

func checkTransition(t *testing.T, from, to v1alpha1.BarPhase, err error) {
	t.Helper()
	want := ""
	if !v1alpha1.CanTransition(from, to) {
		want = "the phase cannot change like this: Pending may become Provisioning"
	}
	check(t, admission{reason: "phase.go says so", want: want}, err)
}

func setPhase(t *testing.T, bar *unstructured.Unstructured, phase v1alpha1.BarPhase) {
	t.Helper()
	if phase == noPhase {
		unstructured.RemoveNestedField(bar.Object, "status", "phase")

		return
	}
	if err := unstructured.SetNestedField(bar.Object, string(phase), "status", "phase"); err != nil {
		t.Fatal(err)
	}
}
