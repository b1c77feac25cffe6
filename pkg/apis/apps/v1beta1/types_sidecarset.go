package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// SidecarSet adds containers, init containers, volumes, pull secrets and annotations to new Pods that it selects, in
// all or some namespaces. Later, it updates the images of these containers in running Pods gradually. It never deletes
// or recreates a Pod, and never removes anything from a Pod.
type SidecarSet struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines what is added to which Pods, and how it is upgraded.
	// +optional
	Spec SidecarSetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed. It can be out of date.
	// +optional
	Status SidecarSetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// SidecarSetList is a list of SidecarSets.
type SidecarSetList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of SidecarSets.
	Items []SidecarSet `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// SidecarSetSpec defines what is added to which Pods, and how it is upgraded.
type SidecarSetSpec struct {
	// selector selects Pods by the labels that they have when they are created. It must not
	// be empty.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,1,opt,name=selector"`

	// namespaceSelector limits the SidecarSet to the Pods of namespaces with these labels.
	// If set, it must not be empty. If unset, the SidecarSet applies to all namespaces.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,3,opt,name=namespaceSelector"`

	// initContainers are added to the init containers of the Pods. They are never upgraded
	// in existing Pods. initContainers or containers must be set.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	InitContainers []SidecarContainer `json:"initContainers,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,4,rep,name=initContainers"`

	// containers are added to the containers of the Pods. An update of the SidecarSet can
	// remove or change containers, but cannot add them. Only image changes are applied to
	// existing Pods.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	Containers []SidecarContainer `json:"containers,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,5,rep,name=containers"`

	// volumes are the volumes that the containers mount. A volume is not added if no
	// container mounts it, or if the Pod has a volume with the same name.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge,retainKeys
	// +listType=map
	// +listMapKey=name
	Volumes []corev1.Volume `json:"volumes,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" protobuf:"bytes,6,rep,name=volumes"`

	// updateStrategy defines how existing Pods are updated to new images.
	// +optional
	UpdateStrategy SidecarSetUpdateStrategy `json:"updateStrategy,omitempty" protobuf:"bytes,7,opt,name=updateStrategy"`

	// injectionStrategy defines what is added to new Pods.
	// +optional
	InjectionStrategy SidecarSetInjectionStrategy `json:"injectionStrategy,omitempty" protobuf:"bytes,8,opt,name=injectionStrategy"`

	// imagePullSecrets are added to the imagePullSecrets of the Pods. The Secrets must exist
	// in the namespaces of the Pods.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,9,rep,name=imagePullSecrets"`

	// revisionHistoryLimit is the number of revisions to keep, in addition to the revisions
	// that Pods use. Values below 1 count as 1.
	// Defaults to 10.
	// +optional
	// +default=10
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,10,opt,name=revisionHistoryLimit"`

	// patchPodMetadata are annotations to set on the Pods.
	// +optional
	// +listType=atomic
	PatchPodMetadata []SidecarSetPatchPodMetadata `json:"patchPodMetadata,omitempty" protobuf:"bytes,11,rep,name=patchPodMetadata"`

	// customVersion is a custom name for the current revision. injectionStrategy.revision
	// can refer to it later. In v1alpha1, it is the label
	// apps.kruise.io/sidecarset-custom-version.
	// +optional
	CustomVersion string `json:"customVersion,omitempty" protobuf:"bytes,12,opt,name=customVersion"`

	// namespace is the field of v1alpha1 in place of a namespaceSelector for the name of the
	// namespace, so that a manifest or a patch that was written for v1alpha1 has the same
	// effect here. The value replaces namespaceSelector. It is never returned here.
	// +optional
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,13,opt,name=namespace"`
}

// SidecarSetStatus is the observed state.
type SidecarSetStatus struct {
	// observedGeneration is the generation of the SidecarSet that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// matchedPods is the number of Pods that have the containers of this SidecarSet.
	MatchedPods int32 `json:"matchedPods" protobuf:"varint,2,opt,name=matchedPods"`

	// updatedPods is the number of matched Pods that are up to date.
	UpdatedPods int32 `json:"updatedPods" protobuf:"varint,3,opt,name=updatedPods"`

	// readyPods is the number of matched Pods that are ready.
	ReadyPods int32 `json:"readyPods" protobuf:"varint,4,opt,name=readyPods"`

	// updatedReadyPods is the number of matched Pods that are up to date and ready.
	// +optional
	UpdatedReadyPods int32 `json:"updatedReadyPods,omitempty" protobuf:"varint,5,opt,name=updatedReadyPods"`

	// latestRevision is the name of the newest revision.
	// +optional
	LatestRevision string `json:"latestRevision,omitempty" protobuf:"bytes,6,opt,name=latestRevision"`

	// collisionCount is the number of collisions of revision names. The controller uses it
	// to create a unique name.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty" protobuf:"varint,7,opt,name=collisionCount"`

	// uninjectedPods is the number of Pods that the SidecarSet selects and that were created
	// without its containers, because admission was not available. Recreate them to inject
	// the containers.
	// +optional
	UninjectedPods int32 `json:"uninjectedPods,omitempty" protobuf:"varint,8,opt,name=uninjectedPods"`
}
