package v1alpha1

// Words in the annotation BarStateAnnotation, and reasons of the condition Exposed of a Foo, for a source that does not get what
// it asks for. Besides these the annotation has the phases of a Bar, ReasonBarClassNotFound, ReasonConflict and ReasonRefused.
const (
	// ReasonReleasePending: the source has stopped to ask for its load balancer, which is kept for the grace period of its BarClass; the message
	// says until when.
	ReasonReleasePending = "ReleasePending"
	// ReasonClassNotAllowed: the Tenant's spec.allowedBarClasses does not hold the BarClass.
	ReasonClassNotAllowed = "ClassNotAllowed"
	// ReasonOverLimit: the Tenant has as many load balancers as its spec.maxBars allows; room that is made is used.
	ReasonOverLimit = "OverLimit"
	// ReasonConflictingClasses: the annotation and spec.loadBalancerClass of a Service name different BarClasses.
	ReasonConflictingClasses = "ConflictingClasses"
	// ReasonInvalidPorts: the source has no port, none that the annotation bar-port picks, or more than a Bar can have.
	ReasonInvalidPorts = "InvalidPorts"
	// ReasonUnsupportedSource: a load balancer cannot be made of such a Deployment or Service; the message says what to change.
	ReasonUnsupportedSource = "UnsupportedSource"
)

// ReasonExposed is the reason of the condition Exposed of a Foo when it is True.
const ReasonExposed = "Exposed"
