package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Fence says which Pod of the operator may write now. There is one, named `controlee`, in the system namespace, made by the chart;
// the elected leader writes itself into it, and an admission policy refuses the operator's writes from any other Pod. So a leader that was
// paused or cut off cannot write after the next one has begun.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fen,categories={controlee}
// +kubebuilder:printcolumn:name="Holder",type=string,JSONPath=`.spec.holder.podName`,description="The Pod that may write."
// +kubebuilder:printcolumn:name="Epoch",type=integer,JSONPath=`.spec.epoch`,description="How many times the holder changed."
// +kubebuilder:printcolumn:name="Accepted",type=integer,JSONPath=`.status.epoch`,description="The last epoch whose holder is known to get through."
// +kubebuilder:printcolumn:name="Accepted-At",type=date,JSONPath=`.status.acceptedAt`,description="Since when."
// +kubebuilder:printcolumn:name="Holder-UID",type=string,priority=1,JSONPath=`.spec.holder.podUID`,description="UID of the Pod that may write."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the Fence was created."
type Fence struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Who may write. Nobody, with epoch 0, when left out.
	// +kubebuilder:default={epoch: 0}
	// +optional
	Spec FenceSpec `json:"spec,omitzero"`

	// Which epoch is known to be in force.
	// +optional
	Status FenceStatus `json:"status,omitzero"`
}

// FenceList is a list of Fences.
//
// +kubebuilder:object:root=true
type FenceList struct {
	metav1.TypeMeta `json:",inline"`

	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The Fences.
	Items []Fence `json:"items"`
}

// FenceSpec says who may write.
//
// +kubebuilder:validation:XValidation:rule="self.epoch == oldSelf.epoch || self.epoch == oldSelf.epoch + 1",fieldPath=".epoch",message="epoch never goes back, and up by one at a time: read the Fence again and write epoch + 1"
// +kubebuilder:validation:XValidation:rule="self.epoch > oldSelf.epoch || (has(self.holder) == has(oldSelf.holder) && (!has(self.holder) || self.holder == oldSelf.holder))",fieldPath=".holder",message="a change of holder needs a higher epoch: read the Fence again and write epoch + 1"
type FenceSpec struct {
	// The Pod that may write; left out, none may.
	// +optional
	Holder *FenceHolder `json:"holder,omitempty"`

	// How many times the holder changed. It never goes back, and each change of holder raises it by one.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000
	// +optional
	Epoch int64 `json:"epoch"`
}

// FenceHolder is a Pod of the operator, in the system namespace.
type FenceHolder struct {
	// Name of the Pod.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	PodName string `json:"podName"`

	// UID of the Pod: tells it from one of the same name that is made later.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +required
	PodUID types.UID `json:"podUID"`
}

// FenceStatus says which epoch is known to be in force: its holder writes it through the fence before it does anything else.
type FenceStatus struct {
	// The last epoch whose holder got a write through.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Epoch int64 `json:"epoch,omitempty"`

	// When that write went through.
	// +optional
	AcceptedAt metav1.MicroTime `json:"acceptedAt,omitzero"`
}
