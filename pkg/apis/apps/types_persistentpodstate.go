package apps

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PersistentPodStateRetentionPolicyType defines how long the state of a Pod is kept.
type PersistentPodStateRetentionPolicyType string

const (
	// PersistentPodStateRetentionPolicyWhenScaled keeps it until the workload no longer
	// needs the Pod, for example after a scale-down.
	PersistentPodStateRetentionPolicyWhenScaled PersistentPodStateRetentionPolicyType = "WhenScaled"
	// PersistentPodStateRetentionPolicyWhenDeleted keeps it until the workload is deleted.
	PersistentPodStateRetentionPolicyWhenDeleted PersistentPodStateRetentionPolicyType = "WhenDeleted"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PersistentPodState records the node on which each Pod of a StatefulSet ran.
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

// PersistentPodStateSpec defines the workload and the Pod state to record. The fields are explained in v1beta1.
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

// PersistentPodStateStatus is the recorded state.
type PersistentPodStateStatus struct {
	ObservedGeneration int64
	PodStates          map[string]PodState
}

// PodState is the recorded state of one Pod.
type PodState struct {
	NodeName           string
	NodeTopologyLabels map[string]string
	Annotations        map[string]string
}
