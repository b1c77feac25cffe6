package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ResourceDistributionConditionType is a way in which the distribution can fail.
type ResourceDistributionConditionType string

const (
	// ResourceDistributionGetResourceFailed says that copies could not be read.
	ResourceDistributionGetResourceFailed ResourceDistributionConditionType = "GetResourceFailed"
	// ResourceDistributionCreateResourceFailed says that copies could not be created.
	ResourceDistributionCreateResourceFailed ResourceDistributionConditionType = "CreateResourceFailed"
	// ResourceDistributionUpdateResourceFailed says that copies could not be changed.
	ResourceDistributionUpdateResourceFailed ResourceDistributionConditionType = "UpdateResourceFailed"
	// ResourceDistributionDeleteResourceFailed says that copies could not be deleted.
	ResourceDistributionDeleteResourceFailed ResourceDistributionConditionType = "DeleteResourceFailed"
	// ResourceDistributionConflictOccurred says that somebody else's object has the name of a copy.
	ResourceDistributionConflictOccurred ResourceDistributionConditionType = "ConflictOccurred"
	// ResourceDistributionNamespaceNotExists says that namespaces are not there, or are being deleted.
	ResourceDistributionNamespaceNotExists ResourceDistributionConditionType = "NamespaceNotExists"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ResourceDistribution copies a Secret or a ConfigMap into the namespaces that you name or
// select, now and when they are created, keeps the copies as they should be, and removes those
// that are no longer wanted. Whoever may read it can read the Secret that it holds.
type ResourceDistribution struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says what is copied, and where to.
	// +optional
	Spec ResourceDistributionSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller observed last. It may lag behind.
	// +optional
	Status ResourceDistributionStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ResourceDistributionList is a list of ResourceDistributions.
type ResourceDistributionList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of ResourceDistributions.
	Items []ResourceDistribution `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ResourceDistributionSpec says what is copied, and where to.
type ResourceDistributionSpec struct {
	// resource is the object that is copied: a Secret or a ConfigMap, whole, with apiVersion,
	// kind and metadata.name, which cannot be changed. A namespace in it is ignored.
	// +patchStrategy=replace
	Resource runtime.RawExtension `json:"resource" patchStrategy:"replace" protobuf:"bytes,1,opt,name=resource"`

	// targets says which namespaces get a copy.
	Targets ResourceDistributionTargets `json:"targets" protobuf:"bytes,2,opt,name=targets"`
}

// ResourceDistributionTargets says which namespaces get a copy: all, or those that are included
// or selected, and in any case without those that are excluded.
type ResourceDistributionTargets struct {
	// allNamespaces asks for a copy in each namespace there is and will be.
	// Defaults to false.
	// +optional
	AllNamespaces bool `json:"allNamespaces,omitempty" protobuf:"varint,1,opt,name=allNamespaces"`

	// excludedNamespaces get no copy, whatever the other fields say.
	// +optional
	ExcludedNamespaces ResourceDistributionTargetNamespaces `json:"excludedNamespaces,omitempty" protobuf:"bytes,2,opt,name=excludedNamespaces"`

	// includedNamespaces get a copy, also those that are created later.
	// +optional
	IncludedNamespaces ResourceDistributionTargetNamespaces `json:"includedNamespaces,omitempty" protobuf:"bytes,3,opt,name=includedNamespaces"`

	// namespaceLabelSelector selects namespaces that get a copy by their labels. An empty selector
	// selects none.
	// +optional
	NamespaceLabelSelector metav1.LabelSelector `json:"namespaceLabelSelector,omitempty" protobuf:"bytes,4,opt,name=namespaceLabelSelector"`
}

// ResourceDistributionTargetNamespaces is a list of namespaces.
type ResourceDistributionTargetNamespaces struct {
	// list is the namespaces.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	List []ResourceDistributionNamespace `json:"list,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,1,rep,name=list"`
}

// ResourceDistributionNamespace names a namespace.
type ResourceDistributionNamespace struct {
	// name is the namespace's name. It need not exist yet.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// ResourceDistributionStatus is what the controller observed.
type ResourceDistributionStatus struct {
	// desired is how many namespaces are to have a copy.
	// +optional
	Desired int32 `json:"desired,omitempty" protobuf:"varint,1,opt,name=desired"`

	// succeeded is how many have the copy as it should be.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty" protobuf:"varint,2,opt,name=succeeded"`

	// failed is how many have not.
	// +optional
	Failed int32 `json:"failed,omitempty" protobuf:"varint,3,opt,name=failed"`

	// observedGeneration is the generation of the ResourceDistribution that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,4,opt,name=observedGeneration"`

	// conditions are the ways in which the distribution can fail, and where it did.
	// +optional
	// +listType=atomic
	Conditions []ResourceDistributionCondition `json:"conditions,omitempty" protobuf:"bytes,5,rep,name=conditions"`
}

// ResourceDistributionCondition is one way in which the distribution can fail.
type ResourceDistributionCondition struct {
	// type is GetResourceFailed, CreateResourceFailed, UpdateResourceFailed,
	// DeleteResourceFailed, ConflictOccurred or NamespaceNotExists.
	Type ResourceDistributionConditionType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=ResourceDistributionConditionType"`

	// status is True when there is such a failure, and False when there is none.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/api/core/v1.ConditionStatus"`

	// lastTransitionTime is when status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`

	// reason is Succeeded, or the text of the last such failure.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`

	// failedNamespace is the namespaces with such a failure.
	// +optional
	// +listType=atomic
	FailedNamespace []string `json:"failedNamespace,omitempty" protobuf:"bytes,5,rep,name=failedNamespace"`
}
