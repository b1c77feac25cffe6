package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PersistentPodStateRetentionPolicyType defines how long the state of a Pod is kept.
// +enum
//
// The empty value means WhenScaled.
type PersistentPodStateRetentionPolicyType string

const (
	// PersistentPodStateRetentionPolicyWhenScaled keeps it until the workload no longer
	// needs the Pod, for example after a scale-down.
	PersistentPodStateRetentionPolicyWhenScaled PersistentPodStateRetentionPolicyType = "WhenScaled"
	// PersistentPodStateRetentionPolicyWhenDeleted keeps it until the workload is deleted.
	PersistentPodStateRetentionPolicyWhenDeleted PersistentPodStateRetentionPolicyType = "WhenDeleted"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PersistentPodState records where each Pod of a StatefulSet ran. A new Pod with the same name
// is scheduled to the same node, zone, or other node labels that you name.
type PersistentPodState struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines the workload and the Pod state to record.
	// +optional
	Spec PersistentPodStateSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the recorded state.
	// +optional
	Status PersistentPodStateStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PersistentPodStateList is a list of PersistentPodStates.
type PersistentPodStateList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of PersistentPodStates.
	Items []PersistentPodState `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// PersistentPodStateSpec defines the workload and the Pod state to record. One of requiredPersistentTopology and
// preferredPersistentTopology must name a label of nodes.
type PersistentPodStateSpec struct {
	// targetRef is the workload: a StatefulSet or Advanced StatefulSet, or a kind that the
	// administrator allows. Only its version can be changed. A workload can have one
	// PersistentPodState.
	TargetRef TargetReference `json:"targetRef" protobuf:"bytes,1,opt,name=targetRef"`

	// persistentPodAnnotations are the Pod annotations to record.
	// +optional
	// +patchMergeKey=key
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=key
	PersistentPodAnnotations []PersistentPodAnnotation `json:"persistentPodAnnotations,omitempty" patchStrategy:"merge" patchMergeKey:"key" protobuf:"bytes,2,rep,name=persistentPodAnnotations"`

	// requiredPersistentTopology lists node labels. A recreated Pod runs only on nodes where
	// these labels have the same values. If no such node exists, the Pod stays pending.
	// +optional
	RequiredPersistentTopology *NodeTopologyTerm `json:"requiredPersistentTopology,omitempty" protobuf:"bytes,3,opt,name=requiredPersistentTopology"`

	// preferredPersistentTopology lists node labels. If possible, a recreated Pod runs on a
	// node where these labels have the same values.
	// +optional
	// +listType=atomic
	PreferredPersistentTopology []PreferredTopologyTerm `json:"preferredPersistentTopology,omitempty" protobuf:"bytes,4,rep,name=preferredPersistentTopology"`

	// persistentPodStateRetentionPolicy is WhenScaled or WhenDeleted. WhenScaled keeps the
	// state of a Pod until the workload no longer needs the Pod, for example after a
	// scale-down. WhenDeleted keeps it until the workload is deleted. If unset, the value is
	// WhenScaled.
	// +optional
	PersistentPodStateRetentionPolicy PersistentPodStateRetentionPolicyType `json:"persistentPodStateRetentionPolicy,omitempty" protobuf:"bytes,5,opt,name=persistentPodStateRetentionPolicy,casttype=PersistentPodStateRetentionPolicyType"`
}

// PersistentPodAnnotation names an annotation of Pods.
type PersistentPodAnnotation struct {
	// key is the annotation's key.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key"`
}

// PreferredTopologyTerm is a preference of a certain weight.
type PreferredTopologyTerm struct {
	// weight is the weight of the preference, from 1 to 100.
	Weight int32 `json:"weight" protobuf:"varint,1,opt,name=weight"`

	// preference lists the node labels.
	Preference NodeTopologyTerm `json:"preference" protobuf:"bytes,2,opt,name=preference"`
}

// NodeTopologyTerm names labels of nodes.
type NodeTopologyTerm struct {
	// keys are the keys of the node labels, such as kubernetes.io/hostname.
	// +listType=atomic
	Keys []string `json:"keys" protobuf:"bytes,1,rep,name=keys"`

	// nodeTopologyKeys is the field of v1alpha1 in place of keys, so that a manifest or a
	// patch that was written for v1alpha1 has the same effect here. The value is moved to
	// keys and replaces the value there. It is never returned here.
	// +optional
	// +listType=atomic
	NodeTopologyKeys []string `json:"nodeTopologyKeys,omitempty" protobuf:"bytes,2,rep,name=nodeTopologyKeys"`
}

// PersistentPodStateStatus is the recorded state.
type PersistentPodStateStatus struct {
	// observedGeneration is the generation of the PersistentPodState that this status
	// describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// podStates maps the name of each Pod to its recorded state.
	// +optional
	PodStates map[string]PodState `json:"podStates,omitempty" protobuf:"bytes,2,rep,name=podStates"`
}

// PodState is the recorded state of one Pod.
type PodState struct {
	// nodeName is the node on which the Pod ran.
	// +optional
	NodeName string `json:"nodeName,omitempty" protobuf:"bytes,1,opt,name=nodeName"`

	// nodeTopologyLabels are the labels of the node that the spec lists.
	// +optional
	NodeTopologyLabels map[string]string `json:"nodeTopologyLabels,omitempty" protobuf:"bytes,2,rep,name=nodeTopologyLabels"`

	// annotations are the annotations of the Pod that the spec lists.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,3,rep,name=annotations"`
}
