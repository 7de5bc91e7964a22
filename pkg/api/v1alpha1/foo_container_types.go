package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// LocalReference names an object of the Foo's own namespace.
type LocalReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// EnvVar is an environment variable of the container.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.value) && has(self.valueFrom))",message="set either value or valueFrom, not both"
type EnvVar struct {
	// Name of the variable: letters, digits, '_', '-' and '.', not beginning with a digit, such as LOG_LEVEL.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z][-._a-zA-Z0-9]*$')",message="an environment variable's name must consist of letters, digits, '_', '-' and '.', and must not begin with a digit, such as LOG_LEVEL"
	// +required
	Name string `json:"name"`

	// The value, "" when left out. `$(NAME)` is replaced by a variable set before this one; `$$(NAME)` is passed on
	// as `$(NAME)`. Excludes `valueFrom`.
	// +kubebuilder:validation:MaxLength=32768
	// +optional
	Value string `json:"value,omitempty"`

	// Where to take the value from, instead of `value`.
	// +optional
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty"`
}

// EnvVarSource is where a variable's value comes from; exactly one field is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.fieldRef), has(self.resourceFieldRef), has(self.configMapKeyRef), has(self.secretKeyRef)].exists_one(x, x)",message="valueFrom needs exactly one of configMapKeyRef, secretKeyRef, fieldRef and resourceFieldRef"
type EnvVarSource struct {
	// A field of the Pod.
	// +optional
	FieldRef *FieldRef `json:"fieldRef,omitempty"`

	// A resource request or limit of the container.
	// +optional
	ResourceFieldRef *ResourceFieldRef `json:"resourceFieldRef,omitempty"`

	// A key of a ConfigMap of the Foo's namespace.
	// +optional
	ConfigMapKeyRef *KeyRef `json:"configMapKeyRef,omitempty"`

	// A key of a Secret of the Foo's namespace.
	// +optional
	SecretKeyRef *KeyRef `json:"secretKeyRef,omitempty"`
}

// FieldRef names a field of the Pod for an environment variable.
type FieldRef struct {
	// The field: `metadata.name`, `metadata.namespace`, `metadata.uid`, `metadata.labels['KEY']`,
	// `metadata.annotations['KEY']`, `spec.nodeName`, `spec.serviceAccountName`, `status.hostIP`, `status.hostIPs`,
	// `status.podIP` or `status.podIPs`.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self in ['metadata.name', 'metadata.namespace', 'metadata.uid', 'spec.nodeName', 'spec.serviceAccountName', 'status.hostIP', 'status.hostIPs', 'status.podIP', 'status.podIPs'] || ((self.startsWith('metadata.labels[\\'') || self.startsWith('metadata.annotations[\\'')) && self.endsWith('\\']') && !self.endsWith('[\\'\\']'))",message="fieldPath must be one of metadata.name, metadata.namespace, metadata.uid, metadata.labels['KEY'], metadata.annotations['KEY'], spec.nodeName, spec.serviceAccountName, status.hostIP, status.hostIPs, status.podIP, status.podIPs"
	// +required
	FieldPath string `json:"fieldPath"`
}

// FileFieldRef names a field of the Pod for a file.
type FileFieldRef struct {
	// The field: `metadata.name`, `metadata.namespace`, `metadata.uid`, `metadata.labels` (all of them, one a line),
	// `metadata.annotations`, `metadata.labels['KEY']` or `metadata.annotations['KEY']`.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self in ['metadata.name', 'metadata.namespace', 'metadata.uid', 'metadata.labels', 'metadata.annotations'] || ((self.startsWith('metadata.labels[\\'') || self.startsWith('metadata.annotations[\\'')) && self.endsWith('\\']') && !self.endsWith('[\\'\\']'))",message="fieldPath of a file must be one of metadata.name, metadata.namespace, metadata.uid, metadata.labels, metadata.annotations, metadata.labels['KEY'], metadata.annotations['KEY']"
	// +required
	FieldPath string `json:"fieldPath"`
}

// ResourceFieldRef names a resource request or limit of the container.
type ResourceFieldRef struct {
	// The resource, such as `limits.cpu`, `limits.memory`, `requests.cpu`, `requests.memory`,
	// `limits.ephemeral-storage` or `requests.ephemeral-storage`.
	// +kubebuilder:validation:Enum=limits.cpu;limits.memory;limits.ephemeral-storage;requests.cpu;requests.memory;requests.ephemeral-storage
	// +required
	Resource string `json:"resource"`

	// The unit to count in, rounded up: `1m` for thousandths of a CPU, `1Mi` for mebibytes. `1` when left out: whole CPUs, or bytes.
	// +kubebuilder:validation:Pattern=`^[0-9]{1,18}([.][0-9]{1,9})?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$`
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Divisor resource.Quantity `json:"divisor,omitzero"`
}

// KeyRef names a key of a ConfigMap or Secret of the Foo's own namespace.
type KeyRef struct {
	// Name of the ConfigMap or Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// The key in it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Key string `json:"key"`

	// Whether the Pod starts, without the variable, when the object or the key is not there. Left out or false, it waits.
	// +optional
	Optional *bool `json:"optional,omitempty"`
}

// EnvFromSource is a ConfigMap or a Secret whose keys all become environment variables; exactly one of them is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.configMapRef) != has(self.secretRef)",message="an envFrom entry needs exactly one of configMapRef and secretRef"
type EnvFromSource struct {
	// Text put before each key to make the variable's name, such as `DB_`.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[-._a-zA-Z][-._a-zA-Z0-9]*$')",message="prefix must consist of letters, digits, '_', '-' and '.', and must not begin with a digit, such as DB_"
	// +optional
	Prefix string `json:"prefix,omitempty"`

	// The ConfigMap.
	// +optional
	ConfigMapRef *OptionalReference `json:"configMapRef,omitempty"`

	// The Secret.
	// +optional
	SecretRef *OptionalReference `json:"secretRef,omitempty"`
}

// OptionalReference names an object of the Foo's own namespace that need not be there.
type OptionalReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Whether the Pod starts when the object is not there. Left out or false, it waits.
	// +optional
	Optional *bool `json:"optional,omitempty"`
}

// ContainerPort is a port on which the program listens.
type ContainerPort struct {
	// Name of the port, unique in the Foo, such as `http`: at most 15 lower-case letters, digits and single '-',
	// with at least one letter.
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?$') && self.matches('[a-z]') && !self.contains('--')",message="a port's name must be at most 15 lower-case letters, digits and single '-', with at least one letter, such as http"
	// +optional
	Name string `json:"name,omitempty"`

	// The port number, 1 to 65535.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	ContainerPort int32 `json:"containerPort"`

	// `TCP`, `UDP` or `SCTP`. One number may be listed once for each.
	// +kubebuilder:default=TCP
	// +kubebuilder:validation:Enum=TCP;UDP;SCTP
	// +optional
	Protocol corev1.Protocol `json:"protocol,omitempty"`
}

// ResourceRequirements are the resources of each Pod.
//
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || self.requests.all(k, !(k in self.limits) || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)",fieldPath=".requests",message="a request must not be more than the limit of the same resource: lower requests or raise limits"
type ResourceRequirements struct {
	// What is set aside for each Pod on its node, such as `{cpu: 100m, memory: 64Mi}`. A resource that has a limit and no request
	// gets its limit as the request. CPU is counted in CPUs (`500m` is half of one), memory in bytes (`64Mi`).
	// +kubebuilder:validation:MaxProperties=6
	// +kubebuilder:validation:XValidation:rule="self.all(k, type(self[k]) == int ? self[k] >= 0 : !self[k].startsWith('-'))",message="requests must not be negative: write amounts such as cpu: 100m and memory: 64Mi"
	// +kubebuilder:validation:XValidation:rule="self.all(k, isQuantity(string(self[k])))",message="requests must be amounts such as cpu: 100m and memory: 64Mi; the units are m, k, M, G, T, P, E and Ki, Mi, Gi, Ti, Pi, Ei"
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// What each Pod may use at most. Above its CPU limit it is slowed down, above its memory limit it is killed and restarted.
	// +kubebuilder:validation:MaxProperties=6
	// +kubebuilder:validation:XValidation:rule="self.all(k, type(self[k]) == int ? self[k] >= 0 : !self[k].startsWith('-'))",message="limits must not be negative: write amounts such as cpu: 500m and memory: 128Mi"
	// +kubebuilder:validation:XValidation:rule="self.all(k, isQuantity(string(self[k])))",message="limits must be amounts such as cpu: 500m and memory: 128Mi; the units are m, k, M, G, T, P, E and Ki, Mi, Gi, Ti, Pi, Ei"
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// Probes are the checks of the container.
type Probes struct {
	// Whether the Pod can serve: while it fails, no traffic is sent to the Pod, and a rollout waits.
	// +optional
	Readiness *Probe `json:"readiness,omitempty"`

	// Whether the program is alive: when it fails, the container is restarted.
	// +kubebuilder:validation:XValidation:rule="self.successThreshold == 1",fieldPath=".successThreshold",message="successThreshold of a liveness probe must be 1: leave it out"
	// +optional
	Liveness *Probe `json:"liveness,omitempty"`

	// Whether the program has started: until it succeeds the other two wait; when it fails, the container is restarted.
	// +kubebuilder:validation:XValidation:rule="self.successThreshold == 1",fieldPath=".successThreshold",message="successThreshold of a startup probe must be 1: leave it out"
	// +optional
	Startup *Probe `json:"startup,omitempty"`
}

// Probe is one check; exactly one of httpGet, tcpSocket, grpc and exec is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.httpGet), has(self.tcpSocket), has(self.grpc), has(self.exec)].exists_one(x, x)",message="a probe needs exactly one of httpGet, tcpSocket, grpc and exec"
type Probe struct {
	// An HTTP request to the Pod: a status from 200 to 399 is success.
	// +optional
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty"`

	// A TCP connection to the Pod: success once it is open.
	// +optional
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty"`

	// A call of the gRPC health service (`grpc.health.v1.Health/Check`): the answer SERVING is success.
	// +optional
	GRPC *GRPCAction `json:"grpc,omitempty"`

	// A program run in the container: exit code 0 is success.
	// +optional
	Exec *ExecAction `json:"exec,omitempty"`

	// Seconds from the start of the container to the first check. 0 to 86400; 0 when left out.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	InitialDelaySeconds int32 `json:"initialDelaySeconds,omitempty"`

	// Seconds after which a check that has not answered counts as failed. 1 to 3600.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// Seconds from one check to the next. 1 to 86400.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	PeriodSeconds int32 `json:"periodSeconds,omitempty"`

	// Successes in a row, after a failure, that make the probe succeed. 1 to 100; must be 1 for `liveness` and `startup`.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	SuccessThreshold int32 `json:"successThreshold,omitempty"`

	// Failures in a row, after a success, that make the probe fail. 1 to 10000.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	FailureThreshold int32 `json:"failureThreshold,omitempty"`
}

// HTTPGetAction is an HTTP request to the Pod itself; it cannot name another host.
type HTTPGetAction struct {
	// Path of the request, such as `/healthz`.
	// +kubebuilder:default=/
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="path must begin with '/', such as /healthz"
	// +optional
	Path string `json:"path,omitempty"`

	// Name or number of the port. A name must be one of `spec.ports`.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self > 0 && self < 65536)",message="port must be a number from 1 to 65535 or the name of one of spec.ports"
	// +required
	Port intstr.IntOrString `json:"port"`

	// `HTTP` or `HTTPS`; with HTTPS the certificate is not checked.
	// +kubebuilder:default=HTTP
	// +kubebuilder:validation:Enum=HTTP;HTTPS
	// +optional
	Scheme corev1.URIScheme `json:"scheme,omitempty"`

	// Header fields to send. A name may be listed more than once.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +optional
	HTTPHeaders []HTTPHeader `json:"httpHeaders,omitempty"`
}

// HTTPHeader is a header field of a request.
type HTTPHeader struct {
	// Name of the field, such as `X-Probe`.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-A-Za-z0-9]+$')",message="a header's name must consist of letters, digits and '-', such as X-Probe"
	// +required
	Name string `json:"name"`

	// Its value.
	// +kubebuilder:validation:MaxLength=4096
	// +required
	Value string `json:"value"`
}

// TCPSocketAction is a connection to the Pod itself; it cannot name another host.
type TCPSocketAction struct {
	// Name or number of the port. A name must be one of `spec.ports`.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self > 0 && self < 65536)",message="port must be a number from 1 to 65535 or the name of one of spec.ports"
	// +required
	Port intstr.IntOrString `json:"port"`
}

// GRPCAction is a call of the gRPC health service of the Pod.
type GRPCAction struct {
	// Number of the port, 1 to 65535.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	Port int32 `json:"port"`

	// Name of the service to ask about; left out, the server as a whole.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Service *string `json:"service,omitempty"`
}

// ExecAction is a program run in the container.
type ExecAction struct {
	// The program and its arguments; no shell is involved.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=32768
	// +required
	Command []string `json:"command"`
}
