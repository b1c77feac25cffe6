package apps

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PersistentPodStateRetentionPolicyType says how long the state of a Pod is kept.
type PersistentPodStateRetentionPolicyType string

const (
	// PersistentPodStateRetentionPolicyWhenScaled keeps it until the workload no longer asks for the Pod.
	PersistentPodStateRetentionPolicyWhenScaled PersistentPodStateRetentionPolicyType = "WhenScaled"
	// PersistentPodStateRetentionPolicyWhenDeleted keeps it until the workload is deleted.
	PersistentPodStateRetentionPolicyWhenDeleted PersistentPodStateRetentionPolicyType = "WhenDeleted"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PersistentPodState remembers where each Pod of a StatefulSet ran.
type PersistentPodState struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   PersistentPodStateSpec
	Status PersistentPodStateStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PersistentPodStateList is a list of PersistentPodStates.
type PersistentPodStateList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []PersistentPodState
}

// PersistentPodStateSpec says whose Pods are remembered, and what of them. The fields are
// explained in v1beta1.
type PersistentPodStateSpec struct {
	TargetRef                         TargetReference
	PersistentPodAnnotations          []PersistentPodAnnotation
	RequiredPersistentTopology        *NodeTopologyTerm
	PreferredPersistentTopology       []PreferredTopologyTerm
	PersistentPodStateRetentionPolicy PersistentPodStateRetentionPolicyType
}

// PersistentPodAnnotation names an annotation of Pods.
type PersistentPodAnnotation struct {
	Key string
}

// PreferredTopologyTerm is a preference of a certain weight.
type PreferredTopologyTerm struct {
	Weight     int32
	Preference NodeTopologyTerm
}

// NodeTopologyTerm names labels of nodes.
type NodeTopologyTerm struct {
	Keys []string
}

// PersistentPodStateStatus is what is remembered.
type PersistentPodStateStatus struct {
	ObservedGeneration int64
	PodStates          map[string]PodState
}

// PodState is what is remembered of a Pod.
type PodState struct {
	NodeName           string
	NodeTopologyLabels map[string]string
	Annotations        map[string]string
}
