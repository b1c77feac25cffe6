package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NodePodProbe is the work list of one node's agent, and its report: which probes to run in
// which Pods, and their results. It has the name of the node. The controller keeps it; to
// have Pods probed, write a PodProbeMarker.
type NodePodProbe struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is what the agent of the node has to run.
	// +optional
	Spec NodePodProbeSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is what the agent of the node reported last.
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

// NodePodProbeSpec is what the agent of the node has to run.
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

	// uid is the Pod's UID. A Pod of the same name that comes later has another one.
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

	// containerName is the container that is probed.
	ContainerName string `json:"containerName" protobuf:"bytes,2,opt,name=containerName"`

	// probe is what is run. Ports are numbers here.
	Probe ContainerProbeSpec `json:"probe" protobuf:"bytes,3,opt,name=probe"`
}

// NodePodProbeStatus is what the agent of the node reported.
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

	// lastProbeTime is when the probe last ran.
	// +optional
	LastProbeTime metav1.Time `json:"lastProbeTime,omitempty" protobuf:"bytes,3,opt,name=lastProbeTime"`

	// lastTransitionTime is when state last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`

	// message is what the probe printed, at most 1024 bytes of it.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}
