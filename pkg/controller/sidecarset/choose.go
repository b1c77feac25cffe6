package sidecarset

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/inplace/record"
	"kruise.io/kruise/pkg/workload/ordering"
	"kruise.io/kruise/pkg/workload/rollout"
)

// choice is what a pass decided about the Pods that are not updated.
type choice struct {
	// upgrade are the Pods to upgrade now, in this order.
	upgrade []*corev1.Pod
	// refused are the Pods in which more than images would have to change, or whose annotations cannot be read. allowed are updated Pods
	// whose condition must be written.
	refused, allowed []*corev1.Pod
}

// sorted holds the Pods of a view by what may happen to them. It is the input of choose.
type sorted struct {
	// all are the matched Pods, eligible those that may be upgraded now, and refused those in which more than images would have to
	// change, or whose annotations cannot be read. allowed are updated Pods whose condition must be written, see lacksCondition.
	all, eligible, refused, allowed []*corev1.Pod
	// unavailable is how many Pods are updated and do not serve. They use up maxUnavailable. Pods of an old revision that do not serve
	// do not: their upgrade takes nothing out of service.
	unavailable int
	// ready says of each Pod whether its sidecars are ready.
	ready map[*corev1.Pod]bool
}

// sort sorts the Pods. Pods that the update strategy does not select, or whose last upgrade is in progress, are in no list but all. It
// returns an error if the selector of the update strategy is not valid.
func (v *view) sort() (*sorted, error) {
	selector := labels.Everything()
	if strategy := &v.set.Spec.UpdateStrategy; strategy.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(strategy.Selector); err != nil {
			return nil, fmt.Errorf("updateStrategy.selector: %w", err)
		}
	}
	s := &sorted{ready: map[*corev1.Pod]bool{}}
	for i := range v.pods {
		pod := &v.pods[i]
		s.all = append(s.all, pod.Pod)
		s.ready[pod.Pod] = pod.ready
		// The node has not finished the upgrade to an older content. A Pod whose record cannot be read holds up nobody.
		if !pod.updated && pod.applying && v.upgraded(pod.Pod) {
			s.unavailable++
		}
		switch {
		case pod.updated:
			if !pod.ready || !pod.consistent {
				s.unavailable++
			}
			if v.lacksCondition(pod.Pod) {
				s.allowed = append(s.allowed, pod.Pod)
			}
		// Pods that the strategy does not select stay as they are.
		case !selector.Matches(labels.Set(pod.Labels)):
		case !pod.upgradable:
			s.refused = append(s.refused, pod.Pod)
		case !pod.applying:
			s.eligible = append(s.eligible, pod.Pod)
		}
	}
	return s, nil
}

// lacksCondition reports whether the condition of an updated Pod does not say yet that the SidecarSet can upgrade it: the spec returned to
// what the Pod has, or the write of the condition failed after an upgrade. Pods that were never upgraded need no condition.
func (v *view) lacksCondition(pod *corev1.Pod) bool {
	upgradable, found := upgradableIn(pod)[v.set.Name]
	if found {
		return !upgradable
	}
	return v.upgraded(pod)
}

// upgraded reports whether the SidecarSet has upgraded a Pod before.
func (v *view) upgraded(pod *corev1.Pod) bool {
	records, err := record.ReadSidecars(pod)
	_, found := records[v.set.Name]
	return err == nil && found
}

// choose decides which Pods are upgraded now. The partition counts all matched Pods, and so do percentages of maxUnavailable. A Pod
// that is not ready does not wait for others, because its upgrade takes nothing out of service: a Pod that is stuck at a bad image gets
// the next one at once.
func (v *view) choose() (*choice, error) {
	strategy := &v.set.Spec.UpdateStrategy
	s, err := v.sort()
	if err != nil {
		return nil, err
	}
	scatter := expand(strategy.ScatterStrategy, s.all)
	ordered, err := ordering.ByStrategy(ordering.ForUpdate(s.eligible), s.all, strategy.PriorityStrategy, scatter)
	if err != nil {
		return nil, err
	}
	partition, err := rollout.Partition(strategy.Partition, len(s.all))
	if err != nil {
		return nil, err
	}
	limit, err := rollout.RoundedUp(strategy.MaxUnavailable, len(s.all), 1)
	if err != nil {
		return nil, fmt.Errorf("resolve maxUnavailable: %w", err)
	}
	chosen := &choice{refused: s.refused, allowed: s.allowed}
	// The Pods at the end of the order stay: as many as the partition says.
	for _, pod := range ordered[:max(0, len(ordered)-partition)] {
		if s.ready[pod] {
			// The order decides, so a ready Pod without room also ends the choice for the Pods behind it. Without priorities,
			// Pods that are not ready are in front.
			if s.unavailable >= limit {
				break
			}
			s.unavailable++
		}
		chosen.upgrade = append(chosen.upgrade, pod)
	}
	return chosen, nil
}

// expand replaces each term for any value of a label with one term for each value that a Pod has, sorted, so that each pass has the
// same order. Duplicates are dropped.
func expand(terms []pub.UpdateScatterTerm, pods []*corev1.Pod) (expanded []pub.UpdateScatterTerm) {
	add := func(term pub.UpdateScatterTerm) {
		if !slices.Contains(expanded, term) {
			expanded = append(expanded, term)
		}
	}
	for _, term := range terms {
		if term.Value != "*" {
			add(term)
			continue
		}
		var values []string
		for _, pod := range pods {
			if value, found := pod.Labels[term.Key]; found {
				values = append(values, value)
			}
		}
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			add(pub.UpdateScatterTerm{Key: term.Key, Value: value})
		}
	}
	return expanded
}
