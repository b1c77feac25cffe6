package pub

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PodUpdatePolicyType defines how a Pod is updated.
// +enum
//
// The empty value means the default.
type PodUpdatePolicyType string

const (
	// ReCreatePodUpdatePolicy deletes the Pod and creates a new one.
	ReCreatePodUpdatePolicy PodUpdatePolicyType = "ReCreate"
	// InPlaceIfPossiblePodUpdatePolicy updates the Pod in place if the change allows it, and
	// recreates it otherwise.
	InPlaceIfPossiblePodUpdatePolicy PodUpdatePolicyType = "InPlaceIfPossible"
	// InPlaceOnlyPodUpdatePolicy updates the Pod in place and refuses any other change.
	InPlaceOnlyPodUpdatePolicy PodUpdatePolicyType = "InPlaceOnly"
)

// InPlaceUpdateStrategy contains the settings of an in-place update.
type InPlaceUpdateStrategy struct {
	// gracePeriodSeconds is the number of seconds that a Pod is not ready before its
	// containers change, so that endpoints can drain.
	// Defaults to 0.
	// +optional
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty" protobuf:"varint,1,opt,name=gracePeriodSeconds"`
}

// UpdatePriorityStrategy defines which Pods are updated first. weightPriority and orderPriority cannot be used
// together.
type UpdatePriorityStrategy struct {
	// orderPriority orders Pods by labels: Pods that have the first key come before Pods
	// that have the second, and so on. Among Pods with the same key, the one whose label
	// value ends in the larger number comes first. Pods without any of the keys come first.
	// +optional
	// +listType=atomic
	OrderPriority []UpdatePriorityOrderTerm `json:"orderPriority,omitempty" protobuf:"bytes,1,rep,name=orderPriority"`

	// weightPriority orders Pods by the sum of the weights of all terms that match, the
	// largest sum first.
	// +optional
	// +listType=atomic
	WeightPriority []UpdatePriorityWeightTerm `json:"weightPriority,omitempty" protobuf:"bytes,2,rep,name=weightPriority"`
}

// UpdatePriorityOrderTerm is one label key of an order.
type UpdatePriorityOrderTerm struct {
	// orderedKey is the key of a Pod label whose value ends in a number, such as "order-10".
	OrderedKey string `json:"orderedKey" protobuf:"bytes,1,opt,name=orderedKey"`
}

// UpdatePriorityWeightTerm gives a weight to the Pods that a selector matches.
type UpdatePriorityWeightTerm struct {
	// weight is added to the priority of each Pod that matchSelector matches. The range is 0
	// to 100.
	Weight int32 `json:"weight" protobuf:"varint,1,opt,name=weight"`

	// matchSelector selects Pods by their labels. It must not be empty.
	MatchSelector metav1.LabelSelector `json:"matchSelector" protobuf:"bytes,2,opt,name=matchSelector"`
}

// UpdateScatterTerm is a label. The Pods that have it are spread evenly over the update.
type UpdateScatterTerm struct {
	// key is the key of a Pod label.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key"`

	// value is the value of the Pod label.
	Value string `json:"value" protobuf:"bytes,2,opt,name=value"`
}
