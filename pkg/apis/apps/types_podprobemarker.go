package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProbeState is the result of a probe.
type ProbeState string

const (
	// ProbeSucceeded says that the probe succeeded.
	ProbeSucceeded ProbeState = "Succeeded"
	// ProbeFailed says that the probe failed, or that its container does not run.
	ProbeFailed ProbeState = "Failed"
	// ProbeUnknown says that there is no result yet.
	ProbeUnknown ProbeState = "Unknown"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PodProbeMarker runs probes of your own against Pods, beside those of the kubelet, and
// writes their results on the Pods: as a condition, and as labels and annotations.
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

// PodProbeMarkerSpec says which Pods are probed, how, and what is written on them. The fields are explained in v1alpha1.
type PodProbeMarkerSpec struct {
	Selector *metav1.LabelSelector
	Probes   []PodContainerProbe
}

// PodContainerProbe is one probe of one container, and what its result does to the Pod.
// podConditionType, markerPolicy or both must be set.
type PodContainerProbe struct {
	Name             string
	ContainerName    string
	Probe            ContainerProbeSpec
	MarkerPolicy     []ProbeMarkerPolicy
	PodConditionType string
}

// ContainerProbeSpec is a kubelet's probe with one difference: each of the numbers counts as 1
// when it is not set. exec, tcpSocket and httpGet are accepted, grpc is not;
// terminationGracePeriodSeconds has no effect.
type ContainerProbeSpec struct {
	corev1.Probe
}

// ProbeMarkerPolicy is what a Pod is marked with for one result.
type ProbeMarkerPolicy struct {
	State       ProbeState
	Labels      map[string]string
	Annotations map[string]string
}

// PodProbeMarkerStatus is what the controller observed.
type PodProbeMarkerStatus struct {
	ObservedGeneration int64
	MatchedPods        int64
}
