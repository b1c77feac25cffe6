package ordering

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// ByStrategy sorts candidates as the update strategy asks: by priority, and scattered among all Pods of the workload. The
// candidates must be in their base order, which is kept if the strategy sets neither. It returns an error if a selector of the
// strategy is not valid.
func ByStrategy(
	candidates, all []*corev1.Pod, priority *pub.UpdatePriorityStrategy, scatter []pub.UpdateScatterTerm,
) ([]*corev1.Pod, error) {
	ordered := candidates
	if priority != nil {
		weights := make([]Weight, 0, len(priority.WeightPriority))
		for _, term := range priority.WeightPriority {
			selector, err := metav1.LabelSelectorAsSelector(&term.MatchSelector)
			if err != nil {
				return nil, fmt.Errorf("priorityStrategy.weightPriority: %w", err)
			}
			weights = append(weights, Weight{Weight: int64(term.Weight), Selector: selector})
		}
		keys := make([]string, 0, len(priority.OrderPriority))
		for _, term := range priority.OrderPriority {
			keys = append(keys, term.OrderedKey)
		}
		ordered = ByOrderedKeys(ByWeight(ordered, weights), keys)
	}
	terms := make([]ScatterTerm, 0, len(scatter))
	for _, term := range scatter {
		terms = append(terms, ScatterTerm{Key: term.Key, Value: term.Value})
	}
	return Scatter(ordered, all, terms), nil
}
