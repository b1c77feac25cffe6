package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// SidecarSet adds containers, init containers, volumes, pull secrets and annotations to new Pods that it selects, in
// all or some namespaces. Later, it updates the images of these containers in running Pods gradually. It never deletes
// or recreates a Pod, and never removes anything from a Pod.
type SidecarSet struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   SidecarSetSpec
	Status SidecarSetStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// SidecarSetList is a list of SidecarSets.
type SidecarSetList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []SidecarSet
}

// SidecarSetSpec defines what is added to which Pods, and how it is upgraded. The fields are explained in v1beta1.
type SidecarSetSpec struct {
	Selector *metav1.LabelSelector
	// Namespace is v1alpha1's field. v1beta1 shows it as a namespaceSelector.
	Namespace            string
	NamespaceSelector    *metav1.LabelSelector
	InitContainers       []SidecarContainer
	Containers           []SidecarContainer
	Volumes              []corev1.Volume
	UpdateStrategy       SidecarSetUpdateStrategy
	InjectionStrategy    SidecarSetInjectionStrategy
	ImagePullSecrets     []corev1.LocalObjectReference
	RevisionHistoryLimit *int32
	PatchPodMetadata     []SidecarSetPatchPodMetadata
	CustomVersion        string
}

// SidecarSetStatus is the observed state.
type SidecarSetStatus struct {
	ObservedGeneration int64
	MatchedPods        int32
	UpdatedPods        int32
	ReadyPods          int32
	UpdatedReadyPods   int32
	LatestRevision     string
	CollisionCount     *int32
	UninjectedPods     int32
}
