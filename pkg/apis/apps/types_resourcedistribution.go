package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ResourceDistributionConditionType is a kind of failure of the distribution.
type ResourceDistributionConditionType string

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ResourceDistribution copies a Secret or a ConfigMap into namespaces.
type ResourceDistribution struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   ResourceDistributionSpec
	Status ResourceDistributionStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ResourceDistributionList is a list of ResourceDistributions.
type ResourceDistributionList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []ResourceDistribution
}

// ResourceDistributionSpec defines the object to copy and the target namespaces. The fields are explained in v1beta1.
// The resource is JSON in one form: see CanonicalJSON.
type ResourceDistributionSpec struct {
	Resource runtime.RawExtension
	Targets  ResourceDistributionTargets
}

// ResourceDistributionTargets defines which namespaces get a copy.
type ResourceDistributionTargets struct {
	AllNamespaces      bool
	ExcludedNamespaces ResourceDistributionTargetNamespaces
	IncludedNamespaces ResourceDistributionTargetNamespaces
	NamespaceSelector  metav1.LabelSelector
}

// ResourceDistributionTargetNamespaces is a list of namespaces.
type ResourceDistributionTargetNamespaces struct {
	List []ResourceDistributionNamespace
}

// ResourceDistributionNamespace names a namespace.
type ResourceDistributionNamespace struct {
	Name string
}

// ResourceDistributionStatus is the observed state.
type ResourceDistributionStatus struct {
	Desired            int32
	Succeeded          int32
	Failed             int32
	ObservedGeneration int64
	Conditions         []ResourceDistributionCondition
}

// ResourceDistributionCondition reports one kind of failure of the distribution.
type ResourceDistributionCondition struct {
	Type               ResourceDistributionConditionType
	Status             corev1.ConditionStatus
	LastTransitionTime metav1.Time
	Reason             string
	FailedNamespaces   []string
}
