package v1alpha1

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BarClass is a kind of load balancer that the platform offers, as a StorageClass is a kind of storage. The platform admin writes it, as a rule
// through the chart's `values.barClasses`.
//
// A tenant names it in `spec.bar.className` of a Foo, in the annotation `controlee.dev/bar-class` of a Deployment or
// Service, or as `spec.loadBalancerClass: controlee.dev/NAME` of a Service. Who may use it is decided by the verb `use` on the
// BarClass, in the tenant's namespace.
//
// A change reaches the load balancers that exist.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=barclasses,shortName=barcl,categories={controlee}
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider.type`,description="What makes the load balancer."
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the class can be used."
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why Ready is as it is."
// +kubebuilder:printcolumn:name="Description",type=string,JSONPath=`.spec.description`,description="What the class is for."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the BarClass was created."
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label: at most 63 lower-case letters, digits and '-', beginning and ending with a letter or digit, such as internal"
type BarClass struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata. The name, a DNS label of at most 63 characters, is what tenants write.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the class offers.
	// +required
	Spec BarClassSpec `json:"spec"`

	// Whether the class can be used. Written by the operator only.
	// +optional
	Status BarClassStatus `json:"status,omitzero"`
}

// BarClassList is a list of BarClasses.
//
// +kubebuilder:object:root=true
type BarClassList struct {
	metav1.TypeMeta `json:",inline"`

	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The BarClasses.
	Items []BarClass `json:"items"`
}

// BarClassSpec says what a class offers.
type BarClassSpec struct {
	// What the class is for, in a sentence to the tenants, such as `Reachable within the cluster only.`
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Description string `json:"description,omitempty"`

	// What makes the load balancers, with its settings.
	// +required
	Provider BarProvider `json:"provider"`

	// Grace period in seconds, 0 to 86400. When the source of a load balancer opts out, or its tenant may no longer use this class, the
	// load balancer is kept for that long, and its source says when it will be released. A request that comes back within the grace period
	// keeps the load balancer with its address. 0 releases at once, and so gives up the address of a Foo, too, whose Deployment loses its
	// annotation for a moment, as by `kubectl rollout undo`. There is no grace period when the source is deleted or its tenant is leaving.
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	ReleaseGracePeriodSeconds *int32 `json:"releaseGracePeriodSeconds,omitempty"`
}

// DefaultReleaseGracePeriod is the grace period of a BarClass that sets none, and of a load balancer whose BarClass is missing.
const DefaultReleaseGracePeriod = 30 * time.Second

// ReleaseGracePeriod returns how long a load balancer of this class is kept after its source has stopped to ask for it. A nil class, which
// stands for one that is missing, has the default.
func (c *BarClass) ReleaseGracePeriod() time.Duration {
	if c == nil || c.Spec.ReleaseGracePeriodSeconds == nil {
		return DefaultReleaseGracePeriod
	}
	return time.Duration(*c.Spec.ReleaseGracePeriodSeconds) * time.Second
}

// ProviderType names a provider.
//
// +kubebuilder:validation:Enum=Service;Gateway
type ProviderType string

// Providers.
const (
	// ServiceProvider makes a Service.
	ServiceProvider ProviderType = "Service"
	// GatewayProvider makes a route of the Gateway API, attached to a Gateway of the platform's.
	GatewayProvider ProviderType = "Gateway"
)

// BarProvider is a provider with its settings: `type` names it, and the field of that name holds the settings.
//
// +union
// +kubebuilder:validation:XValidation:rule="self.type != 'Service' || (has(self.service) && !has(self.gateway))",message="with type: Service write the settings under service (such as service: {type: ClusterIP}) and leave gateway out"
// +kubebuilder:validation:XValidation:rule="self.type != 'Gateway' || (has(self.gateway) && !has(self.service))",message="with type: Gateway write the settings under gateway (parentRef, routeKind, hostnameTemplate) and leave service out"
type BarProvider struct {
	// `Service`: a Service in the tenant's namespace. `Gateway`: a route in the tenant's namespace, attached to a Gateway.
	// +unionDiscriminator
	// +required
	Type ProviderType `json:"type"`

	// Settings of type `Service`.
	// +optional
	Service *ServiceProviderSpec `json:"service,omitempty"`

	// Settings of type `Gateway`. The cluster needs the CRDs of the Gateway API; without them the class says so in its condition `Ready`.
	// +optional
	Gateway *GatewayProviderSpec `json:"gateway,omitempty"`
}

// ServiceProviderSpec says what kind of Service to make.
//
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) || self.type == 'LoadBalancer'",fieldPath=".loadBalancerClass",message="loadBalancerClass needs type: LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!has(self.sourceRanges) || self.type == 'LoadBalancer'",fieldPath=".sourceRanges",message="sourceRanges needs type: LoadBalancer; to restrict other types use a NetworkPolicy"
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || self.type != 'ClusterIP'",fieldPath=".externalTrafficPolicy",message="externalTrafficPolicy needs type: NodePort or LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!has(self.ipFamilies) || self.ipFamilies.size() < 2 || (has(self.ipFamilyPolicy) && self.ipFamilyPolicy != 'SingleStack')",fieldPath=".ipFamilyPolicy",message="two ipFamilies need ipFamilyPolicy: PreferDualStack or RequireDualStack"
type ServiceProviderSpec struct {
	// `ClusterIP`: reachable within the cluster. `NodePort`: on a port of every node. `LoadBalancer`: through a load balancer that another
	// controller of the cluster makes.
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +optional
	Type corev1.ServiceType `json:"type,omitempty"`

	// Which of the cluster's load balancer implementations shall serve the Service, such as `metallb.io/metallb`; the cluster's
	// default one when left out. Only with type `LoadBalancer`. Cannot be of `controlee.dev`: that would ask for a Bar again.
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="loadBalancerClass must be a label-style name, with a domain if it is not a well-known one, such as metallb.io/metallb"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('controlee.dev/')",message="loadBalancerClass must name another implementation: one of controlee.dev would ask for a Bar again, without end"
	// +optional
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`

	// Annotations for the Service: settings of the load balancer's controller. None of `controlee.dev`.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 4096)",message="annotations may have keys of at most 317 and values of at most 4096 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('controlee.dev/'))",message="annotations must not be of controlee.dev: those are the operator's own"
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Address ranges that clients may come from, in CIDR notation, such as `10.0.0.0/8`; everywhere when left out. Only with type
	// `LoadBalancer`, and only where its controller supports it.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:items:Format=cidr
	// +optional
	SourceRanges []string `json:"sourceRanges,omitempty"`

	// `Local` keeps the client's address and sends traffic only to Pods of the node that it arrives at; `Cluster` (Kubernetes'
	// default) may send it on to another node. Only with type `NodePort` or `LoadBalancer`.
	// +kubebuilder:validation:Enum=Cluster;Local
	// +optional
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// `SingleStack`, `PreferDualStack` or `RequireDualStack`; Kubernetes' default (SingleStack) when left out.
	// +kubebuilder:validation:Enum=SingleStack;PreferDualStack;RequireDualStack
	// +optional
	IPFamilyPolicy *corev1.IPFamilyPolicy `json:"ipFamilyPolicy,omitempty"`

	// Address families in order of preference; the cluster's when left out.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=IPv4;IPv6
	// +optional
	IPFamilies []corev1.IPFamily `json:"ipFamilies,omitempty"`
}

// RouteKind is a kind of route of the Gateway API.
//
// +kubebuilder:validation:Enum=HTTPRoute;TCPRoute;TLSRoute
type RouteKind string

// Kinds of route.
const (
	// HTTPRouteKind routes HTTP by host name.
	HTTPRouteKind RouteKind = "HTTPRoute"
	// TCPRouteKind routes a whole listener.
	TCPRouteKind RouteKind = "TCPRoute"
	// TLSRouteKind routes TLS, without decrypting it, by server name.
	TLSRouteKind RouteKind = "TLSRoute"
)

// GatewayProviderSpec says what kind of route to make, and for which Gateway.
//
// +kubebuilder:validation:XValidation:rule="self.routeKind == 'TCPRoute' || has(self.hostnameTemplate)",message="an HTTPRoute or TLSRoute needs hostnameTemplate, such as \"{name}.{namespace}.apps.example.com\""
// +kubebuilder:validation:XValidation:rule="self.routeKind != 'TCPRoute' || !has(self.hostnameTemplate)",fieldPath=".hostnameTemplate",message="a TCPRoute has no host name: leave hostnameTemplate out"
type GatewayProviderSpec struct {
	// The Gateway that the routes attach to. Its listener must allow routes from the tenants' namespaces.
	// +required
	ParentRef GatewayReference `json:"parentRef"`

	// `HTTPRoute`, `TCPRoute` or `TLSRoute`.
	// +kubebuilder:default=HTTPRoute
	// +optional
	RouteKind RouteKind `json:"routeKind,omitempty"`

	// The host name of each load balancer, such as `{name}.{namespace}.apps.example.com`. `{name}` (needed), `{namespace}` and `{tenant}` are
	// replaced by those of the source. Of two sources with the same result the first keeps it and the other is told.
	// Needed for `HTTPRoute` and `TLSRoute`, not allowed for `TCPRoute`.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.contains('{name}')",message="hostnameTemplate must contain {name}, so that each source gets a host name of its own, such as {name}.{namespace}.apps.example.com"
	// +kubebuilder:validation:XValidation:rule="self.replace('{name}', 'x').replace('{namespace}', 'x').replace('{tenant}', 'x').matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)+$')",message="hostnameTemplate must be a lower-case DNS name of two or more parts in which only {name}, {namespace} and {tenant} are replaced, such as {name}.{namespace}.apps.example.com"
	// +optional
	HostnameTemplate string `json:"hostnameTemplate,omitempty"`
}

// GatewayReference names a Gateway, and one of its listeners if wanted.
type GatewayReference struct {
	// Namespace of the Gateway.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace"`

	// Name of the Gateway.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Name of the listener; left out, all listeners that take the route.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	SectionName string `json:"sectionName,omitempty"`
}

// BarClassStatus says whether the class can be used.
type BarClassStatus struct {
	// The `metadata.generation` that the rest of the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The latest observations, one for each type. `Ready`: what the provider needs is there; else the message says what is missing,
	// such as the CRDs of the Gateway API.
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}
