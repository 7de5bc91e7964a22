package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Volume is a volume of the Pod: a name, and exactly one of the kinds below.
//
// Unknown fields are kept until validation so that a kind which is not allowed, such as hostPath, is refused with a
// message that lists what is allowed. They never get past it: a volume has exactly two fields, and one must be a known kind.
//
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:validation:MaxProperties=2
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.emptyDir), has(self.projected), has(self.persistentVolumeClaim)].exists_one(x, x)",message="a volume needs exactly one of configMap, secret, emptyDir, projected and persistentVolumeClaim; no other kind of volume is allowed"
type Volume struct {
	// Name of the volume, for `volumeMounts`: a DNS label, such as `config`.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="a volume's name must be at most 63 lower-case letters, digits and '-', such as config"
	// +required
	Name string `json:"name"`

	// Files from the keys of a ConfigMap.
	// +optional
	ConfigMap *ConfigMapVolumeSource `json:"configMap,omitempty"`

	// Files from the keys of a Secret.
	// +optional
	Secret *SecretVolumeSource `json:"secret,omitempty"`

	// An empty folder that lives as long as the Pod. `{}` takes space on the node's disk.
	// +optional
	EmptyDir *EmptyDirVolumeSource `json:"emptyDir,omitempty"`

	// Files from several sources in one folder; the only way to get a ServiceAccount token.
	// +optional
	Projected *ProjectedVolumeSource `json:"projected,omitempty"`

	// A PersistentVolumeClaim of the Foo's namespace. All Pods of the Foo share it: with more than one it must be able to be mounted
	// by many nodes (access mode ReadWriteMany or ReadOnlyMany), or they must share a node.
	// +optional
	PersistentVolumeClaim *PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`
}

// ConfigMapVolumeSource is a ConfigMap of the Foo's namespace, seen as files.
type ConfigMapVolumeSource struct {
	// Name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// The keys to take, and the files to make of them. Left out, each key becomes a file of its name.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Items []KeyToPath `json:"items,omitempty"`

	// Permission bits of the files, 0 to 511 (0777); 420 (0644) when left out. YAML knows octal numbers with a leading 0, JSON does not.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=511
	// +optional
	DefaultMode *int32 `json:"defaultMode,omitempty"`

	// Whether the Pod starts, with an empty folder, when the ConfigMap is not there. Left out or false, it waits.
	// +optional
	Optional *bool `json:"optional,omitempty"`
}

// SecretVolumeSource is a Secret of the Foo's namespace, seen as files.
type SecretVolumeSource struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	SecretName string `json:"secretName"`

	// The keys to take, and the files to make of them. Left out, each key becomes a file of its name.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Items []KeyToPath `json:"items,omitempty"`

	// Permission bits of the files, 0 to 511 (0777); 420 (0644) when left out. YAML knows octal numbers with a leading 0, JSON does not.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=511
	// +optional
	DefaultMode *int32 `json:"defaultMode,omitempty"`

	// Whether the Pod starts, with an empty folder, when the Secret is not there. Left out or false, it waits.
	// +optional
	Optional *bool `json:"optional,omitempty"`
}

// KeyToPath makes a file of a key.
type KeyToPath struct {
	// The key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Key string `json:"key"`

	// The file, relative to the volume, without `..`, such as `app/config.yaml`.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self != '' && !self.startsWith('/') && !self.startsWith('..') && !self.contains('/../') && !self.endsWith('/..')",message="path must be a path within the volume, without '..' and not beginning with '/', such as app/config.yaml"
	// +required
	Path string `json:"path"`

	// Permission bits of this file, 0 to 511 (0777); the volume's `defaultMode` when left out.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=511
	// +optional
	Mode *int32 `json:"mode,omitempty"`
}

// EmptyDirVolumeSource is an empty folder that lives as long as the Pod.
type EmptyDirVolumeSource struct {
	// `Memory` for a folder in memory, which counts towards the memory limit; left out, on the node's disk.
	// +kubebuilder:validation:Enum="";Memory
	// +optional
	Medium corev1.StorageMedium `json:"medium,omitempty"`

	// The most it may hold, such as `1Gi`; a Pod that goes over it is evicted. Without it the node's disk, or the memory limit, is the bound.
	// +kubebuilder:validation:Pattern=`^[-+]?[0-9]{1,18}([.][0-9]{1,9})?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$`
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : !self.startsWith('-')",message="sizeLimit must not be negative: write an amount such as 1Gi"
	// +optional
	SizeLimit *resource.Quantity `json:"sizeLimit,omitempty"`
}

// PersistentVolumeClaimVolumeSource is a PersistentVolumeClaim of the Foo's namespace.
type PersistentVolumeClaimVolumeSource struct {
	// Name of the PersistentVolumeClaim.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	ClaimName string `json:"claimName"`

	// Whether to mount it for reading only.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
}

// ProjectedVolumeSource puts files from several sources in one folder.
type ProjectedVolumeSource struct {
	// The sources.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +required
	Sources []VolumeProjection `json:"sources"`

	// Permission bits of the files, 0 to 511 (0777); 420 (0644) when left out. YAML knows octal numbers with a leading 0, JSON does not.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=511
	// +optional
	DefaultMode *int32 `json:"defaultMode,omitempty"`
}

// VolumeProjection is one source of a projected volume; exactly one field is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.downwardAPI), has(self.serviceAccountToken)].exists_one(x, x)",message="a source of a projected volume needs exactly one of configMap, secret, downwardAPI and serviceAccountToken"
type VolumeProjection struct {
	// Keys of a ConfigMap.
	// +optional
	ConfigMap *ObjectProjection `json:"configMap,omitempty"`

	// Keys of a Secret.
	// +optional
	Secret *ObjectProjection `json:"secret,omitempty"`

	// Fields of the Pod.
	// +optional
	DownwardAPI *DownwardAPIProjection `json:"downwardAPI,omitempty"`

	// A token of the Foo's ServiceAccount, renewed as long as the Pod runs.
	// +optional
	ServiceAccountToken *ServiceAccountTokenProjection `json:"serviceAccountToken,omitempty"`
}

// ObjectProjection takes keys of a ConfigMap or Secret of the Foo's namespace.
type ObjectProjection struct {
	// Name of the ConfigMap or Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// The keys to take, and the files to make of them. Left out, each key becomes a file of its name.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Items []KeyToPath `json:"items,omitempty"`

	// Whether the Pod starts when the object or a key is not there. Left out or false, it waits.
	// +optional
	Optional *bool `json:"optional,omitempty"`
}

// DownwardAPIProjection makes files of fields of the Pod.
type DownwardAPIProjection struct {
	// The files.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +required
	Items []DownwardAPIFile `json:"items"`
}

// DownwardAPIFile is a file with a field of the Pod in it; exactly one of fieldRef and resourceFieldRef is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.fieldRef) != has(self.resourceFieldRef)",message="a downwardAPI item needs exactly one of fieldRef and resourceFieldRef"
type DownwardAPIFile struct {
	// The file, relative to the volume, without `..`, such as `labels`.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self != '' && !self.startsWith('/') && !self.startsWith('..') && !self.contains('/../') && !self.endsWith('/..')",message="path must be a path within the volume, without '..' and not beginning with '/', such as labels"
	// +required
	Path string `json:"path"`

	// A field of the Pod.
	// +optional
	FieldRef *FileFieldRef `json:"fieldRef,omitempty"`

	// A resource request or limit of the container.
	// +optional
	ResourceFieldRef *ResourceFieldRef `json:"resourceFieldRef,omitempty"`

	// Permission bits of this file, 0 to 511 (0777); the volume's `defaultMode` when left out.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=511
	// +optional
	Mode *int32 `json:"mode,omitempty"`
}

// ServiceAccountTokenProjection makes a file of a token of the Foo's ServiceAccount.
type ServiceAccountTokenProjection struct {
	// Whom the token is for; whoever reads it must check for this name. Left out, the API server.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Audience string `json:"audience,omitempty"`

	// Seconds that a token is good for, 600 to 4294967296; it is renewed in time. 3600 when left out.
	// +kubebuilder:validation:Minimum=600
	// +kubebuilder:validation:Maximum=4294967296
	// +optional
	ExpirationSeconds *int64 `json:"expirationSeconds,omitempty"`

	// The file, relative to the volume, without `..`, such as `token`.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self != '' && !self.startsWith('/') && !self.startsWith('..') && !self.contains('/../') && !self.endsWith('/..')",message="path must be a path within the volume, without '..' and not beginning with '/', such as token"
	// +required
	Path string `json:"path"`
}

// VolumeMount says where in the container a volume appears.
type VolumeMount struct {
	// Name of one of `spec.volumes`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`

	// The folder in the container, absolute, without ':', such as `/etc/app`. Each may be listed once.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/') && !self.contains(':')",message="mountPath must begin with '/' and must not contain ':', such as /etc/app"
	// +required
	MountPath string `json:"mountPath"`

	// The part of the volume to mount, relative to it, without `..`; the whole volume when left out.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && self != '..' && !self.startsWith('../') && !self.contains('/../') && !self.endsWith('/..')",message="subPath must be a path within the volume, without '..' and not beginning with '/'"
	// +optional
	SubPath string `json:"subPath,omitempty"`

	// Whether to mount it for reading only.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
}
