package ordering

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ScatterTerm is a label. Its Pods are spread evenly over the whole update.
type ScatterTerm struct{ Key, Value string }

func (t ScatterTerm) matches(pod *corev1.Pod) bool { return pod.Labels[t.Key] == t.Value }

// Scatter spreads the matching candidates evenly. It applies one term after another, starting with the term that most
// candidates match. all are all Pods of the workload: Pods that were updated before count towards an even spread. Each term
// moves Pods of the terms before it, so only the last one is exactly even. The given slices are not changed.
func Scatter(candidates, all []*corev1.Pod, terms []ScatterTerm) []*corev1.Pod {
	matched := map[ScatterTerm]int{}
	for _, term := range terms {
		for _, pod := range candidates {
			if term.matches(pod) {
				matched[term]++
			}
		}
	}
	ordered := slices.Clone(terms)
	if len(terms) > 1 {
		ordered = slices.DeleteFunc(ordered, func(t ScatterTerm) bool { return matched[t] == 0 })
		slices.SortStableFunc(ordered, func(a, b ScatterTerm) int { return cmp.Compare(matched[b], matched[a]) })
	}
	sorted := candidates
	for _, term := range ordered {
		sorted = scatterOne(sorted, all, term)
	}
	return sorted
}

// scatterOne interleaves groups of matching and other candidates. The last matching candidate ends the update. Fewer than two
// Pods on one side cannot be spread.
func scatterOne(candidates, all []*corev1.Pod, term ScatterTerm) []*corev1.Pod {
	matched, others := split(candidates, term)
	if len(matched) <= 1 || len(others) <= 1 {
		return candidates
	}
	last := matched[len(matched)-1]
	matched = matched[:len(matched)-1]
	allMatched, allOthers := split(all, term)

	groups, matchedSize, othersSize := shape(len(matched), len(others), len(allMatched)-1, len(allOthers))
	// If matching Pods were updated too early, others come first until the share is right again.
	head := 0
	if behindTotals(len(matched), len(others), len(allMatched)-1, len(allOthers)) {
		head = max(0, len(others)-groups*othersSize)
	}
	result := make([]*corev1.Pod, 0, len(candidates))
	result, others = take(result, others, head)
	for range groups {
		result, matched = take(result, matched, matchedSize)
		result, others = take(result, others, othersSize)
	}
	result = append(append(result, matched...), others...)
	return append(result, last)
}

// behindTotals reports whether the share of matching Pods among the candidates is lower than among all Pods: more of them than
// their share were updated before. It compares products, so that nothing is rounded.
func behindTotals(matched, others, allMatched, allOthers int) bool {
	return allOthers*matched < others*allMatched
}

// shape returns the number of groups, and the number of matching and other Pods in each group. If too many matching Pods were
// updated before, the groups have the shape of the whole workload.
func shape(matched, others, allMatched, allOthers int) (groups, matchedSize, othersSize int) {
	if !behindTotals(matched, others, allMatched, allOthers) {
		return group(matched, others)
	}
	_, matchedSize, othersSize = group(allMatched, allOthers)
	return min(matched/matchedSize, others/othersSize), matchedSize, othersSize
}

// group returns as many groups as the smaller side has Pods, so one side has one Pod in each group.
func group(matched, others int) (groups, matchedSize, othersSize int) {
	groups = min(matched, others)
	return groups, roundDiv(matched, groups), roundDiv(others, groups)
}

func roundDiv(a, b int) int { return int(math.Round(float64(a) / float64(b))) }

// split divides Pods by a term. The order is kept.
func split(pods []*corev1.Pod, term ScatterTerm) (matched, others []*corev1.Pod) {
	for _, pod := range pods {
		if term.matches(pod) {
			matched = append(matched, pod)
		} else {
			others = append(others, pod)
		}
	}
	return matched, others
}

// take moves the first n Pods from one list to another. It moves fewer if there are fewer.
func take(to, from []*corev1.Pod, n int) (grown, rest []*corev1.Pod) {
	n = min(n, len(from))
	return append(to, from[:n]...), from[n:]
}
