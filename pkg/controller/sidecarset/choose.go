package sidecarset

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/ordering"
	"kruise.io/kruise/pkg/workload/rollout"
)

// choice is what a pass decided about the Pods that are not updated.
type choice struct {
	// upgrade are the Pods to upgrade now, in this order.
	upgrade []*corev1.Pod
	// refused are the Pods in which more than images would have to change.
	refused []*corev1.Pod
}

// choose decides which Pods are upgraded now.
func (v *view) choose() (*choice, error) {
	strategy := &v.set.Spec.UpdateStrategy
	selector := labels.Everything()
	if strategy.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(strategy.Selector); err != nil {
			return nil, fmt.Errorf("updateStrategy.selector: %w", err)
		}
	}
	chosen := &choice{}
	all := make([]*corev1.Pod, 0, len(v.pods))
	ready := map[*corev1.Pod]bool{}
	var eligible []*corev1.Pod
	unavailable := 0
	for i := range v.pods {
		pod := &v.pods[i]
		all = append(all, pod.Pod)
		ready[pod.Pod] = pod.ready
		switch {
		case pod.updated:
			if !pod.ready || !pod.consistent {
				unavailable++
			}
		case !selector.Matches(labels.Set(pod.Labels)):
		case !pod.upgradable:
			chosen.refused = append(chosen.refused, pod.Pod)
		case !pod.applying:
			eligible = append(eligible, pod.Pod)
		}
	}
	ordered, err := ordering.ByStrategy(ordering.ForUpdate(eligible), all, strategy.PriorityStrategy, expand(strategy.ScatterStrategy, all))
	if err != nil {
		return nil, err
	}
	partition, err := rollout.Partition(strategy.Partition, len(all))
	if err != nil {
		return nil, err
	}
	limit, err := rollout.RoundedUp(strategy.MaxUnavailable, len(all), 1)
	if err != nil {
		return nil, fmt.Errorf("resolve maxUnavailable: %w", err)
	}
	for _, pod := range ordered[:max(0, len(ordered)-partition)] {
		if ready[pod] {
			if unavailable >= limit {
				break
			}
			unavailable++
		}
		chosen.upgrade = append(chosen.upgrade, pod)
	}
	return chosen, nil
}

// expand replaces each term for any value of a label with one term for each value that a Pod has. Duplicates are dropped.
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
