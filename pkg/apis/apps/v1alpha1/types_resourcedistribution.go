package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ResourceDistributionConditionType is a kind of failure of the distribution.
type ResourceDistributionConditionType string

const (
	// ResourceDistributionGetResourceFailed means that copies could not be read.
	ResourceDistributionGetResourceFailed ResourceDistributionConditionType = "GetResourceFailed"
	// ResourceDistributionCreateResourceFailed means that copies could not be created.
	ResourceDistributionCreateResourceFailed ResourceDistributionConditionType = "CreateResourceFailed"
	// ResourceDistributionUpdateResourceFailed means that copies could not be changed.
	ResourceDistributionUpdateResourceFailed ResourceDistributionConditionType = "UpdateResourceFailed"
	// ResourceDistributionDeleteResourceFailed means that copies could not be deleted.
	ResourceDistributionDeleteResourceFailed ResourceDistributionConditionType = "DeleteResourceFailed"
	// ResourceDistributionConflictOccurred means that another object already has the name of
	// a copy.
	ResourceDistributionConflictOccurred ResourceDistributionConditionType = "ConflictOccurred"
	// ResourceDistributionNamespaceNotExists means that namespaces do not exist or are being
	// deleted.
	ResourceDistributionNamespaceNotExists ResourceDistributionConditionType = "NamespaceNotExists"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ResourceDistribution copies a Secret or a ConfigMap into the namespaces that you name or
// select. It also copies into namespaces that are created later, restores copies that were
// changed, and deletes copies that are no longer selected. A user who can read it can also read the
// Secret that it holds.
type ResourceDistribution struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines the object to copy and the target namespaces.
	// +optional
	Spec ResourceDistributionSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed. It can be out of date.
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

// ResourceDistributionSpec defines the object to copy and the target namespaces.
type ResourceDistributionSpec struct {
	// resource is the object to copy: a complete Secret or ConfigMap. Its apiVersion, kind
	// and metadata.name are required and cannot be changed. Its namespace is ignored.
	// +patchStrategy=replace
	Resource runtime.RawExtension `json:"resource" patchStrategy:"replace" protobuf:"bytes,1,opt,name=resource"`

	// targets defines which namespaces get a copy.
	Targets ResourceDistributionTargets `json:"targets" protobuf:"bytes,2,opt,name=targets"`
}

// ResourceDistributionTargets defines which namespaces get a copy: all, or the included and selected ones. Excluded
// namespaces never get a copy.
type ResourceDistributionTargets struct {
	// allNamespaces creates a copy in every existing and future namespace.
	// Defaults to false.
	// +optional
	AllNamespaces bool `json:"allNamespaces,omitempty" protobuf:"varint,1,opt,name=allNamespaces"`

	// excludedNamespaces are namespaces that never get a copy. They take precedence over the
	// other fields.
	// +optional
	ExcludedNamespaces ResourceDistributionTargetNamespaces `json:"excludedNamespaces,omitempty" protobuf:"bytes,2,opt,name=excludedNamespaces"`

	// includedNamespaces are namespaces that get a copy, including those created later.
	// +optional
	IncludedNamespaces ResourceDistributionTargetNamespaces `json:"includedNamespaces,omitempty" protobuf:"bytes,3,opt,name=includedNamespaces"`

	// namespaceLabelSelector selects namespaces that get a copy by their labels. An empty selector
	// selects none.
	// +optional
	NamespaceLabelSelector metav1.LabelSelector `json:"namespaceLabelSelector,omitempty" protobuf:"bytes,4,opt,name=namespaceLabelSelector"`
}

// ResourceDistributionTargetNamespaces is a list of namespaces.
type ResourceDistributionTargetNamespaces struct {
	// list is the list of namespaces.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	List []ResourceDistributionNamespace `json:"list,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,1,rep,name=list"`
}

// ResourceDistributionNamespace names a namespace.
type ResourceDistributionNamespace struct {
	// name is the name of the namespace. The namespace can be created later.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// ResourceDistributionStatus is the observed state.
type ResourceDistributionStatus struct {
	// desired is the number of namespaces that must have a copy.
	// +optional
	Desired int32 `json:"desired,omitempty" protobuf:"varint,1,opt,name=desired"`

	// succeeded is the number of namespaces that have a correct copy.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty" protobuf:"varint,2,opt,name=succeeded"`

	// failed is the number of namespaces that do not have a correct copy.
	// +optional
	Failed int32 `json:"failed,omitempty" protobuf:"varint,3,opt,name=failed"`

	// observedGeneration is the generation of the ResourceDistribution that this status
	// describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,4,opt,name=observedGeneration"`

	// conditions report each kind of failure and the namespaces in which it happened.
	// +optional
	// +listType=atomic
	Conditions []ResourceDistributionCondition `json:"conditions,omitempty" protobuf:"bytes,5,rep,name=conditions"`
}

// ResourceDistributionCondition reports one kind of failure of the distribution.
type ResourceDistributionCondition struct {
	// type is GetResourceFailed, CreateResourceFailed, UpdateResourceFailed,
	// DeleteResourceFailed, ConflictOccurred or NamespaceNotExists.
	Type ResourceDistributionConditionType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=ResourceDistributionConditionType"`

	// status is True if such a failure exists, and False otherwise.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/api/core/v1.ConditionStatus"`

	// lastTransitionTime is the last time that status changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`

	// reason is Succeeded, or the message of the last such failure.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`

	// failedNamespace is the list of namespaces with such a failure.
	// +optional
	// +listType=atomic
	FailedNamespace []string `json:"failedNamespace,omitempty" protobuf:"bytes,5,rep,name=failedNamespace"`
}
