package v1alpha1

// Annotations that a tenant writes on a Deployment or Service to opt in.
const (
	// BarClassAnnotation asks for a load balancer of the BarClass that it names.
	BarClassAnnotation = GroupName + "/bar-class"
	// BarPortAnnotation picks the port, by name or number, where the source has more than one.
	BarPortAnnotation = GroupName + "/bar-port"
)

// Annotations that the operator writes back on the source of a Bar. They are answers: the operator never reads them.
const (
	// BarAddressAnnotation holds the address of the load balancer once it is ready.
	BarAddressAnnotation = GroupName + "/bar-address"
	// BarStateAnnotation holds the state of the load balancer in a word, and a message where something is wrong.
	BarStateAnnotation = GroupName + "/bar-state"
)

// LoadBalancerClassPrefix begins the spec.loadBalancerClass of a Service that opts in by its class; the BarClass's name follows.
const LoadBalancerClassPrefix = GroupName + "/"

// Labels on the objects that the operator makes.
const (
	// FooLabel holds the Foo's name. The Deployment selects its Pods by this label alone, since a selector cannot be changed later.
	FooLabel = GroupName + "/foo"
	// NameLabel is Kubernetes' recommended label for an application's name: the Foo's.
	NameLabel = "app.kubernetes.io/name"
	// ManagedByLabel is Kubernetes' recommended label for the tool that manages an object.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedByValue is the value of ManagedByLabel.
	ManagedByValue = "controlee"
	// TenantLabel holds the tenant's name on objects in the system namespace.
	TenantLabel = GroupName + "/tenant"
	// BarLabel holds the name of the Bar on each object that the operator makes for it. Whoever else makes or changes an object
	// with this label is refused by an admission policy.
	BarLabel = GroupName + "/bar"
	// SourceNamespaceLabel holds the source's namespace on a Bar.
	SourceNamespaceLabel = GroupName + "/source-namespace"
)

// MainContainer is the name of the one container of a Foo's Pods.
const MainContainer = "main"

// Condition types of a Foo.
const (
	// FooReady is True when all wanted Pods run the present spec and are ready.
	FooReady = "Ready"
	// FooProgressing is True while a rollout goes on and after it succeeded, and False when it is stuck or refused.
	FooProgressing = "Progressing"
	// FooExposed is True when the load balancer that spec.bar asks for is ready, whether a Pod is
	// or not. It is absent without spec.bar, once the load balancer is gone.
	FooExposed = "Exposed"
)

// Reasons of a Foo's conditions.
const (
	// ReasonAvailable: all wanted Pods run the present spec and are ready.
	ReasonAvailable = "Available"
	// ReasonScaledToZero: spec.replicas is 0 and no Pod is left; this is Ready.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonProgressing: a rollout goes on.
	ReasonProgressing = "Progressing"
	// ReasonRolloutComplete: the last rollout succeeded.
	ReasonRolloutComplete = "RolloutComplete"
	// ReasonProgressDeadlineExceeded: the rollout made no progress for spec.progressDeadlineSeconds.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonReplicaFailure: Pods cannot be created (quota, LimitRange, Pod Security); the message is the API server's.
	ReasonReplicaFailure = "ReplicaFailure"
	// ReasonPodsNotReady: Pods of the present spec are there but not all ready.
	ReasonPodsNotReady = "PodsNotReady"
	// ReasonConflict: an object of the wanted name belongs to someone else. It is left alone.
	ReasonConflict = "Conflict"
	// ReasonRefused: the API server refused an object for good (policy, quota, validation); the message is the API server's.
	ReasonRefused = "Refused"
	// ReasonBarPending: the load balancer that spec.bar asks for is not there yet.
	ReasonBarPending = "BarPending"
	// ReasonBarClassNotFound: no BarClass has the name in spec.bar.className.
	ReasonBarClassNotFound = "BarClassNotFound"
)

// Condition types of a Bar.
const (
	// BarReady is True when the load balancer is as it was asked for and has an address. It is Unknown, with reason NamespaceLost, while the
	// operator cannot see the namespace.
	BarReady = "Ready"
	// BarReleasePending is True during the grace period: the source has stopped to ask for the load balancer, or its tenant may no longer use
	// the BarClass. The condition is removed when the request comes back.
	BarReleasePending = "ReleasePending"
)

// BarClassReady is the condition type of a BarClass: True when what its provider needs is there.
const BarClassReady = "Ready"

// Condition types of a Tenant.
const (
	// TenantEngaged is True when all its namespaces are served.
	TenantEngaged = "Engaged"
	// TenantReleased is True when a Tenant with spec.leaving has no load balancer left, and its sources no annotation of the operator's.
	// It is absent without spec.leaving.
	TenantReleased = "Released"
)

// Reasons of the condition Released of a Tenant.
const (
	// ReasonReleased: nothing is left; the Tenant can be removed.
	ReasonReleased = "Released"
	// ReasonStillReleasing: the message lists what is left, and what it waits for.
	ReasonStillReleasing = "StillReleasing"
)

// ReasonTenantLeaving is the reason of all conditions of a Foo, which then are Unknown, while its Tenant has spec.leaving, and for ever
// after: the operator does not manage the Foo any more.
const ReasonTenantLeaving = "TenantLeaving"

// Reasons of the condition Engaged of a Tenant, and of the state of one of its namespaces.
const (
	// ReasonEngaged: served.
	ReasonEngaged = "Engaged"
	// ReasonPartlyEngaged: some of the tenant's namespaces are served and others are not.
	ReasonPartlyEngaged = "PartlyEngaged"
	// ReasonAccessDenied: the operator's RoleBinding is missing in the namespace, or the namespace itself is.
	ReasonAccessDenied = "AccessDenied"
	// ReasonNamespaceClaimed: an older Tenant names the namespace as well, and has it.
	ReasonNamespaceClaimed = "NamespaceClaimed"
	// ReasonSystemNamespace: the operator's own namespace cannot belong to a tenant.
	ReasonSystemNamespace = "SystemNamespace"
	// ReasonCacheNotSynced: the operator is still reading what is in the namespace.
	ReasonCacheNotSynced = "CacheNotSynced"
)
