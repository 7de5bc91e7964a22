package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Foo is a workload that a team runs itself. The operator makes a Deployment of it, under the same name and in
// the same namespace, and with `autoscaling` a HorizontalPodAutoscaler, and where it can run two or more Pods a
// PodDisruptionBudget. They belong to the Foo: a change made to them by hand is put right, and they go when the Foo goes.
//
// Every Pod has one container, named `main`, and meets the `restricted` Pod Security level: it cannot run as root,
// gains no privileges and mounts no API token unless one is asked for with a `projected` volume.
// Pods are spread over nodes and leave a lost node after a short while (the operator's setting, 30 s by default).
//
// All that a Foo names (ConfigMaps, Secrets, claims, ServiceAccount) is in the Foo's own namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=fo,categories={controlee,all}
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether all wanted replicas run the present spec and are ready."
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`,description="Pods that exist."
// +kubebuilder:printcolumn:name="Ready-Replicas",type=integer,JSONPath=`.status.readyReplicas`,description="Pods that are ready."
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.status.address`,description="Where the Foo answers, when it has a bar."
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why Ready is as it is."
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.spec.image`,description="The container image."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the Foo was created."
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label, since it becomes a label of the Pods: at most 63 lower-case letters, digits and '-', beginning and ending with a letter or digit, such as web-1"
type Foo struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata. The name must be a DNS label of at most 63 characters: it becomes the name of the
	// Deployment and a label of its Pods.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What shall run. A change is rolled out Pod by Pod, as a Deployment does it.
	// +required
	Spec FooSpec `json:"spec"`

	// What runs now. Written by the operator only.
	// +optional
	Status FooStatus `json:"status,omitzero"`
}

// FooList is a list of Foos.
//
// +kubebuilder:object:root=true
type FooList struct {
	metav1.TypeMeta `json:",inline"`

	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The Foos.
	Items []Foo `json:"items"`
}

// FooSpec says what a Foo shall run.
//
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || self.replicas == 1",fieldPath=".replicas",message="replicas and autoscaling exclude each other: with autoscaling leave replicas out (the autoscaler sets the number; use autoscaling.minReplicas for a floor), or remove autoscaling. If kubectl scale has set replicas, set it back to 1"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || (has(self.resources) && ((has(self.resources.requests) && 'cpu' in self.resources.requests && quantity(string(self.resources.requests['cpu'])).isGreaterThan(quantity('0'))) || (has(self.resources.limits) && !(has(self.resources.requests) && 'cpu' in self.resources.requests) && 'cpu' in self.resources.limits && quantity(string(self.resources.limits['cpu'])).isGreaterThan(quantity('0')))))",fieldPath=".autoscaling",message="autoscaling follows CPU use as a part of the CPU request, so it needs resources.requests.cpu, such as 100m"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeMounts) || self.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name))",fieldPath=".volumeMounts",message="each volumeMount must name one of spec.volumes: add the volume, or correct volumeMounts[].name"
// +kubebuilder:validation:XValidation:rule="!has(self.bar) || (has(self.ports) && self.ports.size() > 0)",fieldPath=".bar",message="a bar needs a port to send traffic to: add one to spec.ports, such as {name: http, containerPort: 8080}"
// +kubebuilder:validation:XValidation:rule="!has(self.bar) || !has(self.ports) || has(self.bar.port) || self.ports.size() < 2",fieldPath=".bar",message="spec.ports has more than one port: set bar.port to the name or number of the one that the bar shall send traffic to"
// +kubebuilder:validation:XValidation:rule="!has(self.bar) || !has(self.bar.port) || !has(self.ports) || self.ports.exists(p, type(self.bar.port) == int ? p.containerPort == self.bar.port : (has(p.name) && p.name == self.bar.port))",fieldPath=".bar.port",message="bar.port must be the name or the containerPort of one of spec.ports"
// +kubebuilder:validation:XValidation:rule="!has(self.probes) || !has(self.probes.readiness) || ((!has(self.probes.readiness.httpGet) || type(self.probes.readiness.httpGet.port) == int || (has(self.ports) && self.ports.exists(p, has(p.name) && p.name == self.probes.readiness.httpGet.port))) && (!has(self.probes.readiness.tcpSocket) || type(self.probes.readiness.tcpSocket.port) == int || (has(self.ports) && self.ports.exists(p, has(p.name) && p.name == self.probes.readiness.tcpSocket.port))))",fieldPath=".probes.readiness",message="the readiness probe names a port that is not in spec.ports: add a port of that name, or write the port's number"
// +kubebuilder:validation:XValidation:rule="!has(self.probes) || !has(self.probes.liveness) || ((!has(self.probes.liveness.httpGet) || type(self.probes.liveness.httpGet.port) == int || (has(self.ports) && self.ports.exists(p, has(p.name) && p.name == self.probes.liveness.httpGet.port))) && (!has(self.probes.liveness.tcpSocket) || type(self.probes.liveness.tcpSocket.port) == int || (has(self.ports) && self.ports.exists(p, has(p.name) && p.name == self.probes.liveness.tcpSocket.port))))",fieldPath=".probes.liveness",message="the liveness probe names a port that is not in spec.ports: add a port of that name, or write the port's number"
// +kubebuilder:validation:XValidation:rule="!has(self.probes) || !has(self.probes.startup) || ((!has(self.probes.startup.httpGet) || type(self.probes.startup.httpGet.port) == int || (has(self.ports) && self.ports.exists(p, has(p.name) && p.name == self.probes.startup.httpGet.port))) && (!has(self.probes.startup.tcpSocket) || type(self.probes.startup.tcpSocket.port) == int || (has(self.ports) && self.ports.exists(p, has(p.name) && p.name == self.probes.startup.tcpSocket.port))))",fieldPath=".probes.startup",message="the startup probe names a port that is not in spec.ports: add a port of that name, or write the port's number"
type FooSpec struct {
	// Container image to run, such as `registry.example/shop/web:1.4.2` or, to pin it, with a digest
	// (`registry.example/shop/web@sha256:…`). No white space, at most 1024 characters.
	// The image must run as a user other than root and say so by number (such as `USER 65532`; a user's name Kubernetes cannot check
	// before it starts the Pod).
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^\\\\S+$')",message="image must name a container image without white space, such as registry.example/shop/web:1.4.2"
	// +required
	Image string `json:"image"`

	// When the node fetches the image: `Always`, `IfNotPresent` or `Never`.
	// Left out, it is `Always` for the tag `latest` or neither tag nor digest, and `IfNotPresent` for
	// every other image; it changes with the image.
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +optional
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// Secrets of the Foo's namespace, of type `kubernetes.io/dockerconfigjson`, that open the registry of the image.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	ImagePullSecrets []LocalReference `json:"imagePullSecrets,omitempty"`

	// Program to run instead of the image's ENTRYPOINT; no shell is involved. `$(NAME)` is replaced by the
	// environment variable of that name, `$$(NAME)` is passed on as `$(NAME)`.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=32768
	// +optional
	Command []string `json:"command,omitempty"`

	// Arguments of the program, instead of the image's CMD. `$(NAME)` is replaced as in `command`.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=32768
	// +optional
	Args []string `json:"args,omitempty"`

	// Environment variables. A variable set here wins over one of the same name from `envFrom`.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	// +optional
	Env []EnvVar `json:"env,omitempty"`

	// ConfigMaps and Secrets whose keys all become environment variables. Of two with the same key the later one wins.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +optional
	EnvFrom []EnvFromSource `json:"envFrom,omitempty"`

	// Ports on which the program listens. Needed for `bar` and for probes that name a port; otherwise information only:
	// a port that is not listed can be reached as well.
	// +listType=map
	// +listMapKey=containerPort
	// +listMapKey=protocol
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(p, !has(p.name) || self.exists_one(q, has(q.name) && q.name == p.name))",message="port names must be unique: give each port a name of its own"
	// +optional
	Ports []ContainerPort `json:"ports,omitempty"`

	// CPU, memory and other resources that each Pod asks for, and may use at most.
	// Where the namespace has a ResourceQuota, requests and limits may be mandatory.
	// +optional
	Resources ResourceRequirements `json:"resources,omitzero"`

	// Checks that tell whether the program is up (`startup`), alive (`liveness`) and able to serve (`readiness`).
	// Without a readiness probe a Pod counts as ready as soon as its program runs.
	// +optional
	Probes *Probes `json:"probes,omitempty"`

	// Volumes that `volumeMounts` can name. Each has a name and exactly one of
	// `configMap`, `secret`, `emptyDir`, `projected` and `persistentVolumeClaim`; no other kind is allowed.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=24
	// +optional
	Volumes []Volume `json:"volumes,omitempty"`

	// Where in the container the volumes appear.
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=64
	// +optional
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty"`

	// ServiceAccount of the Foo's namespace that the Pods run as; `default` when left out. Its token is not mounted:
	// a program that talks to the API server asks for a token with a `projected` volume.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="serviceAccountName must be the name of a ServiceAccount of this namespace: lower-case letters, digits, '-' and '.', such as web"
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// How many Pods shall run, 0 to 10000. 0 stops the Foo and keeps it. `kubectl scale foo NAME --replicas=N` sets it, and
	// so does a HorizontalPodAutoscaler of yours that names the Foo as its target. Leave it out with `autoscaling`.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Let the number of Pods follow their CPU use: the operator makes a HorizontalPodAutoscaler for
	// the Deployment, which sets the number. The operator sets it only for a start: between
	// `minReplicas` and `maxReplicas`, where autoscaling begins or the number is 0, since a
	// HorizontalPodAutoscaler does nothing at 0. To stop the Foo, replace `autoscaling` by
	// `replicas: 0`. Needs `resources.requests.cpu`; excludes `replicas`.
	// +optional
	Autoscaling *Autoscaling `json:"autoscaling,omitempty"`

	// Ask for a load balancer in front of the Pods. Its address appears in `status.address`, its state in
	// the condition `Exposed`.
	// +optional
	Bar *FooBar `json:"bar,omitempty"`

	// Seconds that a rollout may go without progress before it counts as failed (condition `Progressing` becomes False with
	// reason `ProgressDeadlineExceeded`, and `Ready` is False). Pods of the old version go on running. 1 to 86400.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
}

// Autoscaling says between which bounds, and by which CPU use, the number of Pods shall follow the load.
//
// +kubebuilder:validation:XValidation:rule="self.maxReplicas >= self.minReplicas",fieldPath=".maxReplicas",message="maxReplicas must be minReplicas or more (minReplicas is 1 when left out)"
type Autoscaling struct {
	// Fewest Pods, 1 to 10000.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// Most Pods, 1 to 10000; `minReplicas` or more.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +required
	MaxReplicas int32 `json:"maxReplicas"`

	// CPU use to aim at, averaged over all Pods, in percent of `resources.requests.cpu`. 1 to 100.
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	TargetCPUUtilizationPercentage *int32 `json:"targetCPUUtilizationPercentage,omitempty"`
}

// FooBar asks for a load balancer.
type FooBar struct {
	// Name of the BarClass: a kind of load balancer that the platform offers. You must be allowed to use it in this namespace;
	// your platform admin knows which ones there are.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="className must be the name of a BarClass, such as internal: lower-case letters, digits and '-'"
	// +required
	ClassName string `json:"className"`

	// The port to send traffic to: name or `containerPort` of one of `spec.ports`. May be left out when there is just one.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self > 0 && self < 65536)",message="bar.port must be a port's name (at most 15 characters) or a number from 1 to 65535"
	// +optional
	Port *intstr.IntOrString `json:"port,omitempty"`
}

// FooStatus says what runs. All of it is derived: deleting it loses nothing.
type FooStatus struct {
	// The `metadata.generation` that the rest of the status speaks of. While it is lower than the object's
	// generation, the operator has not yet acted on the latest change.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Pods that exist (and are not being deleted), of the present and of older versions.
	// +optional
	Replicas int32 `json:"replicas"`

	// Pods that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// Pods that run the present version.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// The Pods' label selector, as text. `kubectl scale` and a HorizontalPodAutoscaler of yours read it.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Selector string `json:"selector,omitempty"`

	// Where the Foo answers when `spec.bar` is set and the load balancer is ready: an IP address or a host name.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Address string `json:"address,omitempty"`

	// The latest observations, one for each type.
	// `Ready`: all wanted Pods run the present spec and are ready; else the reason and message say what is missing, in the
	// API server's own words where it refused something (quota, Pod Security, policy).
	// `Progressing`: True while a rollout goes on and after it succeeded; False when it is stuck or refused.
	// `Exposed`: only with `spec.bar`, or until its load balancer is gone: the load balancer is ready and
	// its address is in `address`. It does not say that a Pod is ready behind it, which `Ready` does;
	// where none is, the message says so.
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}
