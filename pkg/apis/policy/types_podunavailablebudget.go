package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PubOperation is a kind of voluntary disruption.
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
type UnhealthyPodEvictionPolicyType string

const (
	// IfHealthyBudget lets a running Pod that is not ready be evicted only while as many Pods are
	// available as must be.
	IfHealthyBudget UnhealthyPodEvictionPolicyType = "IfHealthyBudget"
	// AlwaysAllow lets every Pod that is not ready be evicted.
	AlwaysAllow UnhealthyPodEvictionPolicyType = "AlwaysAllow"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PodUnavailableBudget keeps a minimum of an application's Pods available.
type PodUnavailableBudget struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   PodUnavailableBudgetSpec
	Status PodUnavailableBudgetStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PodUnavailableBudgetList is a list of PodUnavailableBudgets.
type PodUnavailableBudgetList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []PodUnavailableBudget
}

// PodUnavailableBudgetSpec is the desired state. The fields are explained in v1beta1.
type PodUnavailableBudgetSpec struct {
	Selector                   *metav1.LabelSelector
	TargetRef                  *TargetReference
	MaxUnavailable             *intstr.IntOrString
	MinAvailable               *intstr.IntOrString
	ProtectOperations          []PubOperation
	ProtectTotalReplicas       *int32
	IgnoredPodSelector         *metav1.LabelSelector
	UnhealthyPodEvictionPolicy *UnhealthyPodEvictionPolicyType
}

// TargetReference names a workload in the budget's namespace.
type TargetReference struct {
	APIVersion string
	Kind       string
	Name       string
}

// PodUnavailableBudgetStatus is what the controller observed and what admission granted since.
type PodUnavailableBudgetStatus struct {
	ObservedGeneration int64
	DisruptedPods      map[string]metav1.Time
	UnavailablePods    map[string]metav1.Time
	RenewedPods        map[string]metav1.Time
	UnavailableAllowed int32
	CurrentAvailable   int32
	DesiredAvailable   int32
	TotalReplicas      int32
}
