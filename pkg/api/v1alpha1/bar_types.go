package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Bar is the record of one load balancer: what was asked for, what is planned, and what exists. The operator makes one in its
// system namespace for each Deployment or Service of a tenant that opts in, and only the operator writes it.
// To change or remove a load balancer, change the source that `spec.sourceRef` names.
//
// The phase can only change as the table says: Pending → Provisioning → Ready; Ready → Provisioning (a change);
// any → Failed → Provisioning; any → Releasing, which nothing leaves. A new Bar begins with Pending.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=br,categories={controlee}
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="Where the load balancer stands."
// +kubebuilder:printcolumn:name="Tenant",type=string,JSONPath=`.spec.tenant`,description="The tenant it belongs to."
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.spec.className`,description="Its BarClass."
// +kubebuilder:printcolumn:name="Source-Namespace",type=string,JSONPath=`.spec.sourceRef.namespace`,description="Namespace of the object that asked for it."
// +kubebuilder:printcolumn:name="Source-Kind",type=string,priority=1,JSONPath=`.spec.sourceRef.kind`,description="Kind of the object that asked for it."
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.spec.sourceRef.name`,description="Name of the object that asked for it."
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.status.addresses[*].value`,description="Its addresses."
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the Bar was created."
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label: at most 63 lower-case letters, digits and '-', beginning and ending with a letter or digit"
// +kubebuilder:validation:XValidation:rule=`(has(self.status) && has(self.status.phase) ? self.status.phase : "") in {"": ["", "Pending"], "Pending": ["Pending", "Provisioning", "Failed", "Releasing"], "Provisioning": ["Provisioning", "Ready", "Failed", "Releasing"], "Ready": ["Ready", "Provisioning", "Failed", "Releasing"], "Failed": ["Failed", "Provisioning", "Releasing"], "Releasing": ["Releasing"]}[has(oldSelf.status) && has(oldSelf.status.phase) ? oldSelf.status.phase : ""]`,fieldPath=".status.phase",message="the phase cannot change like this: Pending may become Provisioning, Provisioning Ready, Ready and Failed Provisioning; each of these may become Failed or Releasing; nothing leaves Releasing; a new Bar begins with Pending; a phase cannot be removed"
type Bar struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata. The name is derived from the source's kind, namespace and name, with a hash.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What was asked for.
	// +required
	Spec BarSpec `json:"spec"`

	// What is planned, and what exists.
	// +optional
	Status BarStatus `json:"status,omitzero"`
}

// BarList is a list of Bars.
//
// +kubebuilder:object:root=true
type BarList struct {
	metav1.TypeMeta `json:",inline"`

	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The Bars.
	Items []Bar `json:"items"`
}

// BarSpec says what was asked for.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.release) || !oldSelf.release || (has(self.release) && self.release)",fieldPath=".release",message="release cannot be taken back: wait until this Bar is gone, then make a new one"
type BarSpec struct {
	// The object that asked for the load balancer. Cannot be changed: an object that is deleted and made again has another UID
	// and gets another Bar, after this one is released.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="sourceRef cannot be changed: release this Bar and make a new one"
	// +required
	SourceRef BarSourceReference `json:"sourceRef"`

	// Name of the Tenant that the source's namespace belongs to. The tenant's limit and allowed classes apply.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="tenant must be the name of a Tenant: lower-case letters, digits and '-', such as team-a"
	// +required
	Tenant string `json:"tenant"`

	// Name of the BarClass. When it changes, the new load balancer is made before the old one is taken away.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="className must be the name of a BarClass: lower-case letters, digits and '-', such as internal"
	// +required
	ClassName string `json:"className"`

	// Ports of the load balancer, at least one.
	// +listType=map
	// +listMapKey=port
	// +listMapKey=protocol
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.size() == 1 || self.all(p, has(p.name))",message="with more than one port each needs a name, such as http"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !has(p.name) || self.exists_one(q, has(q.name) && q.name == p.name))",message="port names must be unique: give each port a name of its own"
	// +required
	Ports []BarPort `json:"ports"`

	// Labels of the Pods, in the source's namespace, that traffic goes to. Empty where the provider does not choose Pods.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="selector must be labels: keys of at most 317 and values of at most 63 characters"
	// +optional
	Selector map[string]string `json:"selector,omitempty"`

	// Settings that the source, a Service, has for its traffic. The BarClass decides which of them the load balancer takes over.
	// +optional
	Traffic *BarTraffic `json:"traffic,omitempty"`

	// Whether the load balancer is to be taken away: the source or its namespace is gone, or the grace period is over after the source
	// took its request back or its Tenant lost the right to use the class, or its Tenant is leaving.
	// The claim controller sets it; the Bar controller then removes all that `status.targets` holds and deletes the Bar.
	// Once true it stays true.
	// +optional
	Release bool `json:"release,omitempty"`
}

// BarTraffic holds the settings of a Service that say how traffic reaches its Pods, as in a Service's spec.
type BarTraffic struct {
	// `ClientIP` sends the connections of one client to one Pod; `None` does not.
	// +kubebuilder:validation:Enum=ClientIP;None
	// +optional
	SessionAffinity corev1.ServiceAffinity `json:"sessionAffinity,omitempty"`

	// How long a client is sent to the same Pod with `sessionAffinity: ClientIP`, in seconds.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	SessionAffinityTimeoutSeconds *int32 `json:"sessionAffinityTimeoutSeconds,omitempty"`

	// Whether traffic is sent to Pods that are not ready, too.
	// +optional
	PublishNotReadyAddresses bool `json:"publishNotReadyAddresses,omitempty"`

	// Which Pods are preferred, such as `PreferSameZone`.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	TrafficDistribution *string `json:"trafficDistribution,omitempty"`

	// For traffic from within the cluster: `Cluster` (Pods on any node) or `Local` (Pods on the client's node alone).
	// +kubebuilder:validation:Enum=Cluster;Local
	// +optional
	InternalTrafficPolicy *corev1.ServiceInternalTrafficPolicy `json:"internalTrafficPolicy,omitempty"`

	// For traffic from outside the cluster: `Cluster` (Pods on any node) or `Local` (Pods on the node that it arrives at). Used only where the
	// BarClass makes a Service of type NodePort or LoadBalancer and sets no policy of its own.
	// +kubebuilder:validation:Enum=Cluster;Local
	// +optional
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
}

// BarSourceKind is a kind of object that can ask for a load balancer.
//
// +kubebuilder:validation:Enum=Deployment;Service
type BarSourceKind string

// Kinds of source.
const (
	// SourceDeployment is a Deployment of group apps.
	SourceDeployment BarSourceKind = "Deployment"
	// SourceService is a Service of the core group.
	SourceService BarSourceKind = "Service"
)

// BarSourceReference names the object that asked for a load balancer.
//
// +kubebuilder:validation:XValidation:rule=`self.kind == "Deployment" ? self.apiGroup == "apps" : self.apiGroup == ""`,fieldPath=".apiGroup",message="apiGroup must be apps for a Deployment and \"\" for a Service"
type BarSourceReference struct {
	// API group of the source: `apps` for a Deployment, "" (the core group) for a Service.
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	// +optional
	APIGroup string `json:"apiGroup"`

	// Kind of the source: `Deployment` or `Service`.
	// +required
	Kind BarSourceKind `json:"kind"`

	// Namespace of the source; one of the tenant's.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace"`

	// Name of the source.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// UID of the source: tells it from one of the same name that is made later.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +required
	UID types.UID `json:"uid"`
}

// BarPort is a port of the load balancer.
type BarPort struct {
	// Name of the port, unique in the Bar; needed where there is more than one.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="a port's name must be at most 63 lower-case letters, digits and '-', such as http"
	// +optional
	Name string `json:"name,omitempty"`

	// The port that clients connect to, 1 to 65535.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	Port int32 `json:"port"`

	// The Pods' port, by number or by name; the same number as `port` when left out.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="(self > 0 && self < 65536) || self.size() > 0",message="targetPort must be a number from 1 to 65535 or the name of a container port"
	// +optional
	TargetPort *intstr.IntOrString `json:"targetPort,omitempty"`

	// `TCP`, `UDP` or `SCTP`. One number may be listed once for each.
	// +kubebuilder:default=TCP
	// +kubebuilder:validation:Enum=TCP;UDP;SCTP
	// +optional
	Protocol corev1.Protocol `json:"protocol,omitempty"`

	// What is spoken on the port, such as `http` or `kubernetes.io/h2c`, as in a Service's `appProtocol`.
	// +kubebuilder:validation:MaxLength=316
	// +optional
	AppProtocol *string `json:"appProtocol,omitempty"`
}

// BarStatus says what is planned, and what exists. Unlike other statuses it is a record that is not derived: `targets` is written
// before anything is done, so that whoever takes over knows what may be half done.
type BarStatus struct {
	// The `metadata.generation` that the rest of the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Where the Bar stands: `Pending`, `Provisioning`, `Ready`, `Failed` or `Releasing`. The API server refuses a change that is not in the table
	// (see the kind's description).
	// +optional
	Phase BarPhase `json:"phase,omitempty"`

	// Every object that was or may have been made for this Bar.
	// +listType=map
	// +listMapKey=apiGroup
	// +listMapKey=kind
	// +listMapKey=namespace
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Targets []BarTarget `json:"targets,omitempty"`

	// Where the load balancer answers.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Addresses []BarAddress `json:"addresses,omitempty"`

	// The latest observations, one for each type. `Ready`: the load balancer is as it was asked for and has an address; else the reason
	// and message say what is missing. `Ready` is Unknown with reason `NamespaceLost` while the operator cannot see the namespace.
	// `ReleasePending`: the source no longer asks for the load balancer (`OptedOut`), or its tenant may no longer use the class
	// (`ClassNotAllowed`). The load balancer is kept until the time in the message.
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// TargetState says how far an object of a Bar is known to exist.
//
// +kubebuilder:validation:Enum=Planned;Applied;Deleting
type TargetState string

// States of a target.
const (
	// TargetPlanned: about to be made; it may or may not exist.
	TargetPlanned TargetState = "Planned"
	// TargetApplied: it exists, with the UID that is recorded.
	TargetApplied TargetState = "Applied"
	// TargetDeleting: about to be deleted; it may or may not exist. The entry goes when the object is known to be gone.
	TargetDeleting TargetState = "Deleting"
)

// BarTarget is an object that a provider makes for a Bar.
//
// +kubebuilder:validation:XValidation:rule="self.state != 'Applied' || has(self.uid)",fieldPath=".uid",message="a target that is Applied exists, so its uid must be recorded"
type BarTarget struct {
	// API group of the object, "" for the core group.
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	// +optional
	APIGroup string `json:"apiGroup"`

	// API version that the object was written with, such as `v1`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Version string `json:"version"`

	// Kind of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Kind string `json:"kind"`

	// Namespace of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// UID of the object, once it is known to exist. Only an object with this UID is ever deleted.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// `Planned` (may exist), `Applied` (exists) or `Deleting` (may still exist).
	// +required
	State TargetState `json:"state"`

	// BarClass that the object was made for: it differs from `spec.className` while a class is being changed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	ClassName string `json:"className"`

	// Provider that made the object, and that knows how to remove it: a provider type of BarClass, such as `Service`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Provider string `json:"provider"`

	// What only one Bar can have and this object takes, such as a host name. The Bar holds it until the entry goes.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Holds string `json:"holds,omitempty"`

	// Whether the Bar has been Ready with this object: one that no longer fits is then kept until what replaces it is Ready too.
	// +optional
	Serving bool `json:"serving,omitempty"`

	// When the state last changed.
	// +optional
	Since metav1.Time `json:"since,omitzero"`
}

// AddressType is a kind of address.
//
// +kubebuilder:validation:Enum=IPAddress;Hostname
type AddressType string

// Kinds of address.
const (
	// IPAddressType is an IPv4 or IPv6 address.
	IPAddressType AddressType = "IPAddress"
	// HostnameAddressType is a DNS name.
	HostnameAddressType AddressType = "Hostname"
)

// BarAddress is where a load balancer answers.
type BarAddress struct {
	// `IPAddress` or `Hostname`.
	// +required
	Type AddressType `json:"type"`

	// The address, such as `203.0.113.7` or `web.team-a.apps.example.com`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Value string `json:"value"`
}
