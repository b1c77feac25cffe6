package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PersistentPodStateRetentionPolicyType says how long the state of a Pod is kept.
// +enum
//
// The empty value stands for WhenScaled.
type PersistentPodStateRetentionPolicyType string

const (
	// PersistentPodStateRetentionPolicyWhenScaled keeps it until the workload no longer asks for the Pod.
	PersistentPodStateRetentionPolicyWhenScaled PersistentPodStateRetentionPolicyType = "WhenScaled"
	// PersistentPodStateRetentionPolicyWhenDeleted keeps it until the workload is deleted.
	PersistentPodStateRetentionPolicyWhenDeleted PersistentPodStateRetentionPolicyType = "WhenDeleted"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PersistentPodState remembers where each Pod of a StatefulSet ran, and brings a Pod that is
// created again with the same name back there: to the same node, zone, or whatever labels of
// nodes you name.
type PersistentPodState struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says whose Pods are remembered, and what of them.
	// +optional
	Spec PersistentPodStateSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is what is remembered.
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

// PersistentPodStateSpec says whose Pods are remembered, and what of them. One of
// requiredPersistentTopology and preferredPersistentTopology must name a label of nodes.
type PersistentPodStateSpec struct {
	// targetRef is the workload: a StatefulSet or Advanced StatefulSet, or a kind that the
	// administrator allows. It cannot be changed, but for the version. A workload has one
	// PersistentPodState.
	TargetRef TargetReference `json:"targetRef" protobuf:"bytes,1,opt,name=targetRef"`

	// persistentPodAnnotations are annotations of Pods that are remembered too.
	// +optional
	// +patchMergeKey=key
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=key
	PersistentPodAnnotations []PersistentPodAnnotation `json:"persistentPodAnnotations,omitempty" patchStrategy:"merge" patchMergeKey:"key" protobuf:"bytes,2,rep,name=persistentPodAnnotations"`

	// requiredPersistentTopology names labels of nodes. A Pod that is created again runs only
	// where they have the same values. If no such node is left, it stays pending.
	// +optional
	RequiredPersistentTopology *NodeTopologyTerm `json:"requiredPersistentTopology,omitempty" protobuf:"bytes,3,opt,name=requiredPersistentTopology"`

	// preferredPersistentTopology names labels of nodes. A Pod that is created again runs
	// where they have the same values, if it can.
	// +optional
	// +listType=atomic
	PreferredPersistentTopology []PreferredTopologyTerm `json:"preferredPersistentTopology,omitempty" protobuf:"bytes,4,rep,name=preferredPersistentTopology"`

	// persistentPodStateRetentionPolicy is WhenScaled or WhenDeleted. WhenScaled forgets a Pod
	// when the workload no longer asks for it. WhenDeleted remembers it until the workload is
	// deleted.
	// Unset means WhenScaled.
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
	// weight is how much the preference counts, from 1 to 100.
	Weight int32 `json:"weight" protobuf:"varint,1,opt,name=weight"`

	// preference names the labels of nodes.
	Preference NodeTopologyTerm `json:"preference" protobuf:"bytes,2,opt,name=preference"`
}

// NodeTopologyTerm names labels of nodes.
type NodeTopologyTerm struct {
	// keys are the keys of the labels, like kubernetes.io/hostname.
	// +listType=atomic
	Keys []string `json:"keys" protobuf:"bytes,1,rep,name=keys"`
}

// PersistentPodStateStatus is what is remembered.
type PersistentPodStateStatus struct {
	// observedGeneration is the generation of the PersistentPodState that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// podStates are what is remembered of each Pod, by its name.
	// +optional
	PodStates map[string]PodState `json:"podStates,omitempty" protobuf:"bytes,2,rep,name=podStates"`
}

// PodState is what is remembered of a Pod.
type PodState struct {
	// nodeName is the node on which the Pod ran.
	// +optional
	NodeName string `json:"nodeName,omitempty" protobuf:"bytes,1,opt,name=nodeName"`

	// nodeTopologyLabels are the node's labels that the spec names.
	// +optional
	NodeTopologyLabels map[string]string `json:"nodeTopologyLabels,omitempty" protobuf:"bytes,2,rep,name=nodeTopologyLabels"`

	// annotations are the Pod's annotations that the spec names.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,3,rep,name=annotations"`
}
