package apps

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NodePodProbe is the list of probes that the agent of one node runs, and their results. It has the name of the node.
// The controller writes it. To probe Pods, create a PodProbeMarker.
type NodePodProbe struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   NodePodProbeSpec
	Status NodePodProbeStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NodePodProbeList is a list of NodePodProbes.
type NodePodProbeList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []NodePodProbe
}

// NodePodProbeSpec is the list of probes that the node agent must run. The fields are explained in v1alpha1.
type NodePodProbeSpec struct {
	PodProbes []PodProbe
}

// PodProbe is the probes of one Pod.
type PodProbe struct {
	Name      string
	Namespace string
	UID       string
	IP        string
	Probes    []ContainerProbe
}

// ContainerProbe is one probe of one container.
type ContainerProbe struct {
	Name          string
	ContainerName string
	Probe         ContainerProbeSpec
}

// NodePodProbeStatus is the report of the node agent.
type NodePodProbeStatus struct {
	PodProbeStatuses []PodProbeStatus
}

// PodProbeStatus is the results of one Pod.
type PodProbeStatus struct {
	Name        string
	Namespace   string
	UID         string
	ProbeStates []ContainerProbeState
}

// ContainerProbeState is the result of one probe.
type ContainerProbeState struct {
	Name               string
	State              ProbeState
	LastProbeTime      metav1.Time
	LastTransitionTime metav1.Time
	Message            string
}
