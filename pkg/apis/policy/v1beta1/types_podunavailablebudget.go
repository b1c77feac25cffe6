package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PubOperation is a kind of voluntary disruption.
// +enum
type PubOperation string

const (
	// PubDeleteOperation is the deletion of a Pod.
	PubDeleteOperation PubOperation = "DELETE"
	// PubUpdateOperation is a change of a Pod that makes it unavailable, such as a new
	// image.
	PubUpdateOperation PubOperation = "UPDATE"
	// PubEvictOperation is an eviction.
	PubEvictOperation PubOperation = "EVICT"
	// PubResizeOperation is a change of resources that restarts nothing.
	PubResizeOperation PubOperation = "RESIZE"
)

// UnhealthyPodEvictionPolicyType defines when Pods that are not ready may be evicted.
// +enum
type UnhealthyPodEvictionPolicyType string

const (
	// IfHealthyBudget lets a running Pod that is not ready be evicted only while at least the
	// required number of Pods is available.
	IfHealthyBudget UnhealthyPodEvictionPolicyType = "IfHealthyBudget"
	// AlwaysAllow lets every Pod that is not ready be evicted.
	AlwaysAllow UnhealthyPodEvictionPolicyType = "AlwaysAllow"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PodUnavailableBudget keeps a minimum of an application's Pods available. It limits deletions
// and evictions of Pods by all clients. With the feature gate PodUnavailableBudgetUpdateGate, it
// also limits updates in place. A request beyond the budget is refused.
type PodUnavailableBudget struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines which Pods are protected, and how many of them can be unavailable.
	// +optional
	Spec PodUnavailableBudgetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed, minus the disruptions granted
	// since then.
	// +optional
	Status PodUnavailableBudgetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PodUnavailableBudgetList is a list of PodUnavailableBudgets.
type PodUnavailableBudgetList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of PodUnavailableBudgets.
	Items []PodUnavailableBudget `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// PodUnavailableBudgetSpec defines which Pods are protected, and how many of them can be unavailable.
type PodUnavailableBudgetSpec struct {
	// selector selects the Pods by their labels, in the budget's namespace. Set either selector
	// or targetRef. It must not be empty, and cannot be changed.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,1,opt,name=selector"`

	// targetRef names the workload whose Pods are protected: a CloneSet, a Deployment, a
	// StatefulSet, or any other kind with a scale subresource. Set either selector or targetRef.
	// It cannot be changed.
	// +optional
	TargetRef *TargetReference `json:"targetRef,omitempty" protobuf:"bytes,2,opt,name=targetRef"`

	// maxUnavailable is the maximum number of unavailable Pods. It is a number, or a
	// percentage of the replicas such as "20%", rounded up. Set either maxUnavailable or
	// minAvailable.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,3,opt,name=maxUnavailable"`

	// minAvailable is the number of Pods that must stay available. It is a number, or a
	// percentage of the replicas such as "80%", rounded up. A number greater than the
	// replicas allows no disruption. Set either maxUnavailable or minAvailable.
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty" protobuf:"bytes,4,opt,name=minAvailable"`

	// protectOperations are the operations that the budget limits: DELETE, UPDATE, EVICT,
	// RESIZE. If unset or empty, they are DELETE, UPDATE and EVICT. The annotation
	// kruise.io/pub-protect-operations has the same meaning. If an update changes only one
	// of the two, the server sets the other one to the same value.
	// +optional
	// +listType=atomic
	ProtectOperations []PubOperation `json:"protectOperations,omitempty" protobuf:"bytes,5,rep,name=protectOperations,casttype=PubOperation"`

	// protectTotalReplicas replaces the number of replicas that the budget is calculated
	// from. It must be 1 or more. If unset, the replicas of the workloads are used. The
	// annotation pub.kruise.io/protect-total-replicas has the same meaning. If an update
	// changes only one of the two, the server sets the other one to the same value.
	// +optional
	ProtectTotalReplicas *int32 `json:"protectTotalReplicas,omitempty" protobuf:"varint,6,opt,name=protectTotalReplicas"`

	// ignoredPodSelector selects Pods that can always be disrupted. They count as available.
	// If set, it must not be empty.
	// +optional
	IgnoredPodSelector *metav1.LabelSelector `json:"ignoredPodSelector,omitempty" protobuf:"bytes,7,opt,name=ignoredPodSelector"`

	// unhealthyPodEvictionPolicy defines when Pods that run but are not ready can be
	// evicted, as in a PodDisruptionBudget. IfHealthyBudget allows it only while enough Pods
	// are available. AlwaysAllow allows it at any time. If unset, the value is AlwaysAllow.
	// Deletions and updates of such Pods are never limited.
	// +optional
	UnhealthyPodEvictionPolicy *UnhealthyPodEvictionPolicyType `json:"unhealthyPodEvictionPolicy,omitempty" protobuf:"bytes,8,opt,name=unhealthyPodEvictionPolicy,casttype=UnhealthyPodEvictionPolicyType"`
}

// TargetReference names a workload in the budget's namespace.
type TargetReference struct {
	// apiVersion is the group and version of the workload, such as apps.kruise.io/v1beta1.
	// The version is ignored.
	APIVersion string `json:"apiVersion" protobuf:"bytes,1,opt,name=apiVersion"`

	// kind is the kind of the workload, such as CloneSet.
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind"`

	// name is the name of the workload.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name"`
}

// PodUnavailableBudgetStatus is what the controller observed and what admission granted since.
type PodUnavailableBudgetStatus struct {
	// observedGeneration is the generation of the budget that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration" protobuf:"varint,1,opt,name=observedGeneration"`

	// disruptedPods maps the names of Pods whose deletion or eviction was granted but is not
	// observed yet to the time of the grant.
	// +optional
	DisruptedPods map[string]metav1.Time `json:"disruptedPods,omitempty" protobuf:"bytes,2,rep,name=disruptedPods"`

	// unavailablePods maps the names of Pods whose update was granted but is not observed
	// yet to the time of the grant.
	// +optional
	UnavailablePods map[string]metav1.Time `json:"unavailablePods,omitempty" protobuf:"bytes,3,rep,name=unavailablePods"`

	// renewedPods maps the names of Pods whose grant was renewed to the time of the first
	// grant. A grant is renewed when it is used again. It lasts at most 30 seconds in total.
	// +optional
	RenewedPods map[string]metav1.Time `json:"renewedPods,omitempty" protobuf:"bytes,8,rep,name=renewedPods"`

	// unavailableAllowed is the number of Pods that can become unavailable now.
	UnavailableAllowed int32 `json:"unavailableAllowed" protobuf:"varint,4,opt,name=unavailableAllowed"`

	// currentAvailable is the number of available Pods.
	CurrentAvailable int32 `json:"currentAvailable" protobuf:"varint,5,opt,name=currentAvailable"`

	// desiredAvailable is the number of Pods that must stay available.
	DesiredAvailable int32 `json:"desiredAvailable" protobuf:"varint,6,opt,name=desiredAvailable"`

	// totalReplicas is the number of replicas that the budget is calculated from.
	TotalReplicas int32 `json:"totalReplicas" protobuf:"varint,7,opt,name=totalReplicas"`
}
