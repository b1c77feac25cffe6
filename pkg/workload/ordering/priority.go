package ordering

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Weight adds to the priority of the Pods that a selector matches.
type Weight struct {
	Weight   int64
	Selector labels.Selector
}

// ByWeight sorts by the sum of the matching weights, highest first. The sort is stable. A Pod that no selector matches has the
// weight zero.
func ByWeight(pods []*corev1.Pod, weights []Weight) []*corev1.Pod {
	total := func(pod *corev1.Pod) (sum int64) {
		for _, w := range weights {
			if w.Selector.Matches(labels.Set(pod.Labels)) {
				sum += w.Weight
			}
		}
		return sum
	}
	sorted := slices.Clone(pods)
	slices.SortStableFunc(sorted, func(a, b *corev1.Pod) int { return cmp.Compare(total(b), total(a)) })
	return sorted
}

// ByOrderedKeys sorts by the first of the keys that a Pod's labels contain, then by the number at the end of the label's value,
// largest first. Pods with none of the keys come first. Existing rollouts depend on this, so it must not change.
func ByOrderedKeys(pods []*corev1.Pod, keys []string) []*corev1.Pod {
	level := func(pod *corev1.Pod) (int, int64) {
		for i, key := range keys {
			if value, found := pod.Labels[key]; found {
				return i, trailingNumber(value)
			}
		}
		return -1, 0
	}
	sorted := slices.Clone(pods)
	slices.SortStableFunc(sorted, func(a, b *corev1.Pod) int {
		levelA, numberA := level(a)
		levelB, numberB := level(b)
		return cmp.Or(cmp.Compare(levelA, levelB), cmp.Compare(numberB, numberA))
	})
	return sorted
}

// trailingNumber returns the number at the end of a text, or zero if there is none or it is too large.
func trailingNumber(text string) int64 {
	start := len(text)
	for start > 0 && text[start-1] >= '0' && text[start-1] <= '9' {
		start--
	}
	value, err := strconv.ParseInt(text[start:], 10, 64)
	if err != nil {
		return 0
	}
	return value
}
