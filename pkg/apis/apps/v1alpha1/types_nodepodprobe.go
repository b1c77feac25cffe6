package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NodePodProbe is the list of probes that the agent of one node runs, and their results. It has the name of the node.
// The controller writes it. To probe Pods, create a PodProbeMarker.
type NodePodProbe struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the list of probes that the node agent must run.
	// +optional
	Spec NodePodProbeSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the last report of the node agent.
	// +optional
	Status NodePodProbeStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NodePodProbeList is a list of NodePodProbes.
type NodePodProbeList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of NodePodProbes.
	Items []NodePodProbe `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// NodePodProbeSpec is the list of probes that the node agent must run.
type NodePodProbeSpec struct {
	// podProbes are the Pods of the node that have probes.
	// +optional
	// +listType=atomic
	PodProbes []PodProbe `json:"podProbes,omitempty" protobuf:"bytes,1,rep,name=podProbes"`
}

// PodProbe is the probes of one Pod.
type PodProbe struct {
	// name is the Pod's name.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// namespace is the Pod's namespace.
	Namespace string `json:"namespace" protobuf:"bytes,2,opt,name=namespace"`

	// uid is the UID of the Pod.
	UID string `json:"uid" protobuf:"bytes,3,opt,name=uid"`

	// IP is the Pod's address, for probes over the network.
	// +optional
	IP string `json:"IP" protobuf:"bytes,4,opt,name=IP"`

	// probes are the probes of the Pod, of every PodProbeMarker that selects it.
	// +optional
	// +listType=atomic
	Probes []ContainerProbe `json:"probes,omitempty" protobuf:"bytes,5,rep,name=probes"`
}

// ContainerProbe is one probe of one container.
type ContainerProbe struct {
	// name is "<name of the PodProbeMarker>#<name of its probe>".
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// containerName is the name of the container to probe.
	ContainerName string `json:"containerName" protobuf:"bytes,2,opt,name=containerName"`

	// probe is the probe to run. Its ports are numbers.
	Probe ContainerProbeSpec `json:"probe" protobuf:"bytes,3,opt,name=probe"`
}

// NodePodProbeStatus is the report of the node agent.
type NodePodProbeStatus struct {
	// podProbeStatuses are the Pods of the node that have results.
	// +optional
	// +listType=atomic
	PodProbeStatuses []PodProbeStatus `json:"podProbeStatuses,omitempty" protobuf:"bytes,1,rep,name=podProbeStatuses"`
}

// PodProbeStatus is the results of one Pod.
type PodProbeStatus struct {
	// name is the Pod's name.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// namespace is the Pod's namespace.
	Namespace string `json:"namespace" protobuf:"bytes,2,opt,name=namespace"`

	// uid is the Pod's UID.
	UID string `json:"uid" protobuf:"bytes,3,opt,name=uid"`

	// probeStates are the results.
	// +optional
	// +listType=atomic
	ProbeStates []ContainerProbeState `json:"probeStates,omitempty" protobuf:"bytes,4,rep,name=probeStates"`
}

// ContainerProbeState is the result of one probe.
type ContainerProbeState struct {
	// name is "<name of the PodProbeMarker>#<name of its probe>".
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// state is Succeeded, Failed or Unknown.
	State ProbeState `json:"state" protobuf:"bytes,2,opt,name=state,casttype=ProbeState"`

	// lastProbeTime is the last time that the probe ran.
	// +optional
	LastProbeTime metav1.Time `json:"lastProbeTime,omitempty" protobuf:"bytes,3,opt,name=lastProbeTime"`

	// lastTransitionTime is the last time that state changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`

	// message is the output of the probe, at most 1024 bytes.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}
