package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProbeState is the result of a probe.
// +enum
type ProbeState string

const (
	// ProbeSucceeded means that the probe succeeded.
	ProbeSucceeded ProbeState = "Succeeded"
	// ProbeFailed means that the probe failed, or that its container does not run.
	ProbeFailed ProbeState = "Failed"
	// ProbeUnknown means that the probe has no result yet.
	ProbeUnknown ProbeState = "Unknown"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PodProbeMarker runs custom probes against Pods, in addition to those of the kubelet. It writes their results to the
// Pods as a condition, labels and annotations.
type PodProbeMarker struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines which Pods are probed, how they are probed, and how the results are
	// recorded.
	// +optional
	Spec PodProbeMarkerSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed. It can be out of date.
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

// PodProbeMarkerSpec defines which Pods are probed, how they are probed, and how the results are recorded.
type PodProbeMarkerSpec struct {
	// selector selects the Pods, in the namespace of the PodProbeMarker, by their labels.
	// It must not be empty, and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,1,opt,name=selector"`

	// probes are the probes to run against each Pod. At least one is required.
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	Probes []PodContainerProbe `json:"probes" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,2,rep,name=probes"`
}

// PodContainerProbe is one probe of one container. Its result is recorded on the Pod by podConditionType, markerPolicy
// or both. At least one must be set.
type PodContainerProbe struct {
	// name is the unique name of the probe. It must not contain "#", and must not be the
	// type of a condition that Kubernetes or Kruise writes, such as Ready.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// containerName is the name of the container to probe. A Pod without this container is
	// not probed.
	ContainerName string `json:"containerName" protobuf:"bytes,2,opt,name=containerName"`

	// probe is the probe to run: exec, tcpSocket or httpGet, with the timing fields of a
	// kubelet probe.
	Probe ContainerProbeSpec `json:"probe" protobuf:"bytes,3,opt,name=probe"`

	// markerPolicy defines the labels and annotations that each result sets on the Pod. When
	// the result changes, the labels and annotations of the old result are removed.
	// +optional
	// +patchMergeKey=state
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=state
	MarkerPolicy []ProbeMarkerPolicy `json:"markerPolicy,omitempty" patchStrategy:"merge" patchMergeKey:"state" protobuf:"bytes,4,rep,name=markerPolicy"`

	// podConditionType is the type of the Pod condition that reports the result. It is True
	// if the probe succeeded. The type must be unique, and must not be a condition of
	// another component, such as Ready.
	// +optional
	PodConditionType string `json:"podConditionType,omitempty" protobuf:"bytes,5,opt,name=podConditionType"`
}

// ContainerProbeSpec is a kubelet probe with one difference: each number defaults to 1. exec, tcpSocket and httpGet are
// supported. grpc is not. terminationGracePeriodSeconds has no effect.
type ContainerProbeSpec struct {
	corev1.Probe `json:",inline" protobuf:"bytes,1,opt,name=probe"`
}

// ProbeMarkerPolicy defines the labels and annotations for one result.
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

// PodProbeMarkerStatus is the observed state.
type PodProbeMarkerStatus struct {
	// observedGeneration is the generation of the PodProbeMarker that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration" protobuf:"varint,1,opt,name=observedGeneration"`

	// matchedPods is the number of Pods that are probed.
	// +optional
	MatchedPods int64 `json:"matchedPods,omitempty" protobuf:"varint,2,opt,name=matchedPods"`
}
