package v1alpha1

import "slices"

// BarPhase is where a Bar stands.
//
// +kubebuilder:validation:Enum=Pending;Provisioning;Ready;Failed;Releasing
type BarPhase string

// Phases of a Bar.
const (
	// PhasePending: recorded, nothing has been done yet.
	PhasePending BarPhase = "Pending"
	// PhaseProvisioning: the load balancer is being made or changed.
	PhaseProvisioning BarPhase = "Provisioning"
	// PhaseReady: the load balancer is as it was asked for, and has an address.
	PhaseReady BarPhase = "Ready"
	// PhaseFailed: a permanent error; it waits for a change of the Bar, its class or what is in the way.
	PhaseFailed BarPhase = "Failed"
	// PhaseReleasing: what was made is being taken away; the Bar is deleted at the end. Nothing leads out of it.
	PhaseReleasing BarPhase = "Releasing"
)

// phases lists the phases in the order in which a Bar meets them.
var phases = []BarPhase{PhasePending, PhaseProvisioning, PhaseReady, PhaseFailed, PhaseReleasing}

// phaseTransitions holds every change of phase that is allowed; keeping a phase always is. "" is a Bar without a phase: a new one.
//
// The CRD of Bar holds the same table as a CEL rule (see the marker on Bar), so that the API server refuses any other
// change whoever makes it. A test compares the two.
var phaseTransitions = map[BarPhase][]BarPhase{
	"":                {PhasePending},
	PhasePending:      {PhaseProvisioning, PhaseFailed, PhaseReleasing},
	PhaseProvisioning: {PhaseReady, PhaseFailed, PhaseReleasing},
	PhaseReady:        {PhaseProvisioning, PhaseFailed, PhaseReleasing},
	PhaseFailed:       {PhaseProvisioning, PhaseReleasing},
	PhaseReleasing:    {},
}

// CanTransition tells whether a Bar may go from one phase to another; "" stands for no phase yet.
// A phase can always be kept, but never be taken away.
func CanTransition(from, to BarPhase) bool {
	successors, known := phaseTransitions[from]

	return known && (from == to || slices.Contains(successors, to))
}

// Phases returns all phases, in the order in which a Bar meets them.
func Phases() []BarPhase {
	return slices.Clone(phases)
}

// Successors returns the phases that may follow one; "" stands for no phase yet.
func Successors(from BarPhase) []BarPhase {
	return slices.Clone(phaseTransitions[from])
}
