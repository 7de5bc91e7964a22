package v1alpha1

// Reasons of the condition Ready of a Bar, besides ReasonConflict and ReasonRefused, and ReasonAccessDenied where the operator lacks a
// right on a kind that the BarClass needs.
const (
	// ReasonProvisioned: the load balancer is as it was asked for.
	ReasonProvisioned = "Provisioned"
	// ReasonRecorded: the Bar was recorded and nothing has been done yet.
	ReasonRecorded = "Recorded"
	// ReasonProvisioning: objects are being made or changed.
	ReasonProvisioning = "Provisioning"
	// ReasonReleasing: what was made is being taken away.
	ReasonReleasing = "Releasing"
	// ReasonNamespaceLost: the operator can no longer see the namespace, because its Tenant or the operator's RoleBinding is missing. The Bar,
	// its objects and its host name are kept until the namespace is served again, the namespace is gone, or an admin deletes the Bar.
	ReasonNamespaceLost = "NamespaceLost"
	// ReasonTerminating: an object is still being deleted: one of the wanted name, or one that a released Bar waits for.
	ReasonTerminating = "Terminating"
	// ReasonAddressPending: the cluster's load balancer controller has given no address yet.
	ReasonAddressPending = "AddressPending"
	// ReasonRoutePending: the Gateway's controller has not answered yet.
	ReasonRoutePending = "RoutePending"
	// ReasonRouteNotAccepted: the Gateway does not take the route; the message says why.
	ReasonRouteNotAccepted = "RouteNotAccepted"
	// ReasonBackendNotResolved: the Gateway takes the route but cannot send its traffic on; the message says why.
	ReasonBackendNotResolved = "BackendNotResolved"

	// ReasonProviderUnknown: this version of the operator has no provider of the type that the BarClass names.
	ReasonProviderUnknown = "ProviderUnknown"
	// ReasonKindNotInstalled: the cluster lacks a CRD that the BarClass needs.
	ReasonKindNotInstalled = "KindNotInstalled"
	// ReasonNoSelector: the source chooses no Pods, so there is nothing to send traffic to.
	ReasonNoSelector = "NoSelector"
	// ReasonPortNotChosen: the BarClass serves one port and the source has more.
	ReasonPortNotChosen = "PortNotChosen"
	// ReasonProtocolNotSupported: the BarClass does not carry the protocol of the port.
	ReasonProtocolNotSupported = "ProtocolNotSupported"
	// ReasonHostnameInvalid: the host name that the BarClass's template gives is too long.
	ReasonHostnameInvalid = "HostnameInvalid"
	// ReasonHostnameTaken: another Bar has the host name and keeps it.
	ReasonHostnameTaken = "HostnameTaken"
	// ReasonListenerTaken: another Bar has the Gateway's listener for itself and keeps it.
	ReasonListenerTaken = "ListenerTaken"
)

// ReasonOptedOut is the reason of the condition ReleasePending of a Bar whose source has taken its
// request back. The Event on the source has the reason LoadBalancerReleasePending then. The other
// reasons are ReasonClassNotAllowed, and ReasonUnsupportedSource of a Service that has become one of
// type ExternalName.
const ReasonOptedOut = "OptedOut"

// ReasonClassReady is the reason of the condition Ready of a BarClass that can be used. Why one cannot is said with the reasons of a Bar.
const ReasonClassReady = "Usable"
