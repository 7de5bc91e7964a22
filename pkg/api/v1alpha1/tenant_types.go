package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Tenant is a team: the namespaces that the operator serves for it, and what it may have. It lives in the operator's
// system namespace and is written by the platform admin, as a rule by the chart from `values.tenants`.
//
// A Tenant grants the operator nothing: in each namespace a RoleBinding of the platform admin does (the chart makes both).
// Where that is missing the namespace is `Refused` in the status, and no other namespace or tenant is affected.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tn,categories={controlee}
// +kubebuilder:printcolumn:name="Engaged",type=string,JSONPath=`.status.conditions[?(@.type=="Engaged")].status`,description="Whether all namespaces of the tenant are served."
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Engaged")].reason`,description="Why Engaged is as it is."
// +kubebuilder:printcolumn:name="Namespaces",type=string,JSONPath=`.spec.namespaces`,description="The tenant's namespaces."
// +kubebuilder:printcolumn:name="Released",type=string,JSONPath=`.status.conditions[?(@.type=="Released")].status`,description="Of a tenant that is leaving: whether nothing of its load balancers is left."
// +kubebuilder:printcolumn:name="Bar-Classes",type=string,priority=1,JSONPath=`.spec.allowedBarClasses`,description="BarClasses the tenant may use."
// +kubebuilder:printcolumn:name="Max-Bars",type=integer,priority=1,JSONPath=`.spec.maxBars`,description="Most load balancers the tenant may have."
// +kubebuilder:printcolumn:name="Weight",type=integer,priority=1,JSONPath=`.spec.weight`,description="The tenant's share of the operator's time."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the Tenant was created."
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label: at most 63 lower-case letters, digits and '-', beginning and ending with a letter or digit, such as team-a"
type Tenant struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata. The name, a DNS label of at most 63 characters, is the tenant's name in metrics and conditions.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What belongs to the tenant, and what it may have.
	// +required
	Spec TenantSpec `json:"spec"`

	// What is served now. Written by the operator only.
	// +optional
	Status TenantStatus `json:"status,omitzero"`
}

// TenantList is a list of Tenants.
//
// +kubebuilder:object:root=true
type TenantList struct {
	metav1.TypeMeta `json:",inline"`

	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The Tenants.
	Items []Tenant `json:"items"`
}

// TenantSpec says what belongs to a tenant, and what it may have.
type TenantSpec struct {
	// Namespaces of the tenant, 1 to 64. A namespace belongs to one tenant: where two Tenants name it, the one with the older
	// `metadata.creationTimestamp` has it (in the same second, the one whose name sorts first), and the other says `NamespaceClaimed`.
	// Neither the system namespace nor a `kube-` namespace can belong to a tenant.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="each of namespaces must be the name of a namespace: lower-case letters, digits and '-', beginning and ending with a letter or digit, such as team-a"
	// +kubebuilder:validation:items:XValidation:rule="!self.startsWith('kube-')",message="namespaces that begin with kube- (kube-system, kube-public, kube-node-lease) belong to Kubernetes: name the tenant's own namespaces"
	// +required
	Namespaces []string `json:"namespaces"`

	// BarClasses that the tenant's load balancers may use. Empty or left out: none. The right of a person to use a class is
	// the verb `use` on the BarClass in the namespace (the chart grants it); this list is the operator's own check, on every reconcile.
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="each of allowedBarClasses must be the name of a BarClass: lower-case letters, digits and '-', such as internal"
	// +optional
	AllowedBarClasses []string `json:"allowedBarClasses,omitempty"`

	// Most load balancers (Bars) that the tenant may have, in all its namespaces together. 0 forbids them; left out, there is no limit.
	// One that is over the limit waits, and its source says so, until room is made.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	MaxBars *int32 `json:"maxBars,omitempty"`

	// Marks the tenant as leaving: the first step of off-boarding. The operator releases all load balancers of the tenant at once, removes
	// the annotations and the `status.loadBalancer` that it wrote on their sources, and makes no new ones. Foos keep their Deployments, which
	// go on running and are no longer managed. The condition `Released` is True when all that is done; then the Tenant can be removed.
	// The requests that the tenant wrote, such as the annotation `controlee.dev/bar-class`, stay: setting it back to false gives the sources
	// load balancers again, with new addresses.
	// +optional
	Leaving bool `json:"leaving,omitempty"`

	// The tenant's share of the operator's time when several tenants have work waiting, 1 to 100. It has no effect yet: this version
	// serves all tenants in the order of their changes.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Weight int32 `json:"weight,omitempty"`
}

// NamespaceState says how far the operator serves a namespace.
//
// +kubebuilder:validation:Enum=Engaged;Pending;Refused
type NamespaceState string

// States of a tenant's namespace.
const (
	// NamespaceEngaged: the namespace is served.
	NamespaceEngaged NamespaceState = "Engaged"
	// NamespacePending: the operator is about to serve the namespace; its cache is not yet filled.
	NamespacePending NamespaceState = "Pending"
	// NamespaceRefused: the namespace is not served; the reason says why, and what to do.
	NamespaceRefused NamespaceState = "Refused"
)

// TenantStatus says what is served. All of it is derived from the specs and from what is in the cluster: deleting it loses nothing.
type TenantStatus struct {
	// The `metadata.generation` that the rest of the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// How far each namespace is served.
	// +listType=map
	// +listMapKey=name
	// +patchStrategy=merge
	// +patchMergeKey=name
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Namespaces []TenantNamespaceStatus `json:"namespaces,omitempty" patchStrategy:"merge" patchMergeKey:"name"`

	// The latest observations, one for each type. `Engaged`: all namespaces are served; else the reason says why not, with
	// `PartlyEngaged` where some are. `Released`, present only with `spec.leaving`: True when nothing that the operator made for load
	// balancers is left; else the reason is `StillReleasing`, and the message lists what is left.
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// TenantNamespaceStatus says how far one namespace is served.
type TenantNamespaceStatus struct {
	// Name of the namespace.
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`

	// `Engaged` (served), `Pending` (about to be) or `Refused` (not served; see reason).
	// +required
	State NamespaceState `json:"state"`

	// Why, in one word, such as `AccessDenied`.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`

	// Why, for people, and what to do about it.
	// +kubebuilder:validation:MaxLength=32768
	// +optional
	Message string `json:"message,omitempty"`

	// When the state last changed.
	// +optional
	Since metav1.Time `json:"since,omitzero"`
}
