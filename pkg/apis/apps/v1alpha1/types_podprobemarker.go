package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProbeState is the result of a probe.
// +enum
type ProbeState string

const (
	// ProbeSucceeded says that the probe succeeded.
	ProbeSucceeded ProbeState = "Succeeded"
	// ProbeFailed says that the probe failed, or that its container does not run.
	ProbeFailed ProbeState = "Failed"
	// ProbeUnknown says that there is no result yet.
	ProbeUnknown ProbeState = "Unknown"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PodProbeMarker runs probes of your own against Pods, beside those of the kubelet, and
// writes their results on the Pods: as a condition, and as labels and annotations.
type PodProbeMarker struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says which Pods are probed, how, and what is written on them.
	// +optional
	Spec PodProbeMarkerSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller observed last. It may lag behind.
	// +optional
	Status PodProbeMarkerStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PodProbeMarkerList is a list of PodProbeMarkers.
type PodProbeMarkerList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of PodProbeMarkers.
	Items []PodProbeMarker `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// PodProbeMarkerSpec says which Pods are probed, how, and what is written on them.
type PodProbeMarkerSpec struct {
	// selector selects the Pods, in the namespace of the PodProbeMarker, by their labels.
	// It must not be empty, and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,1,opt,name=selector"`

	// probes are what is run against each of the Pods. At least one is needed.
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	Probes []PodContainerProbe `json:"probes" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,2,rep,name=probes"`
}

// PodContainerProbe is one probe of one container, and what its result does to the Pod.
// podConditionType, markerPolicy or both must be set.
type PodContainerProbe struct {
	// name tells the probe from the others. It must not contain "#", nor be the type of a
	// condition that Kubernetes or Kruise writes, such as Ready.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// containerName is the container that is probed. A Pod without it is not probed.
	ContainerName string `json:"containerName" protobuf:"bytes,2,opt,name=containerName"`

	// probe is what is run: exec, tcpSocket or httpGet, with the timing of a kubelet's probe.
	Probe ContainerProbeSpec `json:"probe" protobuf:"bytes,3,opt,name=probe"`

	// markerPolicy are the labels and annotations that the Pod gets with each result. Those
	// of the result that no longer holds are removed.
	// +optional
	// +patchMergeKey=state
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=state
	MarkerPolicy []ProbeMarkerPolicy `json:"markerPolicy,omitempty" patchStrategy:"merge" patchMergeKey:"state" protobuf:"bytes,4,rep,name=markerPolicy"`

	// podConditionType is the type of the Pod's condition that tells the result: True when
	// the probe succeeded. No two probes may name the same, and none the condition of
	// somebody else, such as Ready.
	// +optional
	PodConditionType string `json:"podConditionType,omitempty" protobuf:"bytes,5,opt,name=podConditionType"`
}

// ContainerProbeSpec is a kubelet's probe with one difference: each of the numbers counts as 1
// when it is not set. exec, tcpSocket and httpGet are accepted, grpc is not;
// terminationGracePeriodSeconds has no effect.
type ContainerProbeSpec struct {
	corev1.Probe `json:",inline" protobuf:"bytes,1,opt,name=probe"`
}

// ProbeMarkerPolicy is what a Pod is marked with for one result.
type ProbeMarkerPolicy struct {
	// state is the result: Succeeded or Failed.
	State ProbeState `json:"state" protobuf:"bytes,1,opt,name=state,casttype=ProbeState"`

	// labels are set on the Pod. labels, annotations or both must be set.
	// +optional
	Labels map[string]string `json:"labels,omitempty" protobuf:"bytes,2,rep,name=labels"`

	// annotations are set on the Pod.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,3,rep,name=annotations"`
}

// PodProbeMarkerStatus is what the controller observed.
type PodProbeMarkerStatus struct {
	// observedGeneration is the generation of the PodProbeMarker that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// matchedPods is how many Pods are probed.
	// +optional
	MatchedPods int64 `json:"matchedPods,omitempty" protobuf:"varint,2,opt,name=matchedPods"`
}
