package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProbeState is the result of a probe.
type ProbeState string

const (
	// ProbeSucceeded means that the probe succeeded.
	ProbeSucceeded ProbeState = "Succeeded"
	// ProbeFailed means that the probe failed, or that its container does not run.
	ProbeFailed ProbeState = "Failed"
	// ProbeUnknown means that the probe has no result yet.
	ProbeUnknown ProbeState = "Unknown"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PodProbeMarker runs custom probes against Pods, in addition to those of the kubelet. It writes their results to the
// Pods as a condition, labels and annotations.
type PodProbeMarker struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   PodProbeMarkerSpec
	Status PodProbeMarkerStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PodProbeMarkerList is a list of PodProbeMarkers.
type PodProbeMarkerList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []PodProbeMarker
}

// PodProbeMarkerSpec defines which Pods are probed, how they are probed, and how the results are recorded. The fields
// are explained in v1alpha1.
type PodProbeMarkerSpec struct {
	Selector *metav1.LabelSelector
	Probes   []PodContainerProbe
}

// PodContainerProbe is one probe of one container. Its result is recorded on the Pod by podConditionType, markerPolicy
// or both. At least one must be set.
type PodContainerProbe struct {
	Name             string
	ContainerName    string
	Probe            ContainerProbeSpec
	MarkerPolicy     []ProbeMarkerPolicy
	PodConditionType string
}

// ContainerProbeSpec is a kubelet probe with one difference: each number defaults to 1. exec, tcpSocket and httpGet are
// supported. grpc is not. terminationGracePeriodSeconds has no effect.
type ContainerProbeSpec struct {
	corev1.Probe
}

// ProbeMarkerPolicy defines the labels and annotations for one result.
type ProbeMarkerPolicy struct {
	State       ProbeState
	Labels      map[string]string
	Annotations map[string]string
}

// PodProbeMarkerStatus is the observed state.
type PodProbeMarkerStatus struct {
	ObservedGeneration int64
	MatchedPods        int64
}
