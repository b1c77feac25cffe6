package statefulset

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/ordering"
	"kruise.io/kruise/pkg/workload/rollout"
)

// countsAsUpdated reports whether a Pod counts as updated when an update without order selects Pods.
func (p *planner) countsAsUpdated(pod *corev1.Pod) bool {
	return p.Updated(pod) || p.preparingUpdateAsUpdate && preparesUpdate(pod)
}

// candidates returns the slots that the partition lets the update reach, in the order of the update. The result has indexes of slots,
// also of empty ones. It is nil if updates are stopped.
func (p *planner) candidates() ([]int, error) {
	if p.Stopped {
		return nil, nil
	}
	partition := int(ptr.Deref(p.rolling.Partition, 0))
	// The first slots of this order are updated, as many as the partition leaves.
	if p.rolling.UnorderedUpdate != nil {
		order, err := p.byPriority()
		return order[:max(0, min(len(order), len(p.slots)-partition))], err
	}
	var order []int
	// The highest ordinal comes first, as in Kubernetes. The partition counts slots, not ordinals.
	for i := len(p.slots) - 1; i >= partition; i-- {
		order = append(order, i)
	}
	return order, nil
}

// byPriority returns the slots in the order of an update without order: those that are updated or about to be first, then the others
// by their priority. Updated and empty slots come first, so they use up the partition's number before others do.
func (p *planner) byPriority() (order []int, err error) {
	places, rest := map[*corev1.Pod]int{}, []*corev1.Pod{}
	for i, slot := range slices.Backward(p.slots) {
		pod := slot.pod
		if pod == nil || pod.DeletionTimestamp != nil || p.countsAsUpdated(pod) {
			order = append(order, i)
			continue
		}
		// Pods are sorted, and places finds their slots again.
		places[pod], rest = i, append(rest, pod)
	}
	sorted, err := ordering.ByStrategy(rest, rest, p.rolling.UnorderedUpdate.PriorityStrategy, nil)
	for _, pod := range sorted {
		order = append(order, places[pod])
	}
	return order, err
}

// maxUnavailable returns how many Pods an update may make unavailable. The default is 1. A percentage that rounds to 0 becomes 1,
// because otherwise no Pod could ever be updated.
func (p *planner) maxUnavailable() (int, error) {
	value := p.rolling.MaxUnavailable
	if value == nil {
		value = new(intstr.FromInt32(1))
	}
	limit, err := rollout.MaxUnavailable(value, p.Replicas)
	if err != nil {
		return 0, fmt.Errorf("updateStrategy.rollingUpdate.maxUnavailable: %w", err)
	}
	return max(1, limit), nil
}

// updater selects the Pods that an update may reach now. It is made for one stage. All slots count against the limit, not only the
// candidates.
type updater struct {
	*planner
	stage engine.Stage
	limit int
	// unavailable are the slots whose Pod is unavailable, or becomes so by this plan. picked are the slots whose Pod the user picked
	// for deletion.
	unavailable, picked map[int]bool
	// full is true if a Pod had to wait because of the limit. Of the Pods after it, only those that already left service for their update
	// go on. Otherwise they would never free the limit.
	full bool
}

// updateStage deletes Pods that the user picked, and brings candidates to the update revision, as far as maxUnavailable allows. It
// returns at the first error, so an update does not skip a Pod.
func (p *planner) updateStage(candidates []int) (engine.Stage, error) {
	u := &updater{planner: p, stage: engine.Stage{Aim: engine.Update}, unavailable: map[int]bool{}, picked: map[int]bool{}}
	var err error
	if u.limit, err = p.maxUnavailable(); err != nil {
		return u.stage, err
	}
	// In order, Pods out of range go first. Meanwhile, only Pods that are out of service already are replaced.
	if p.ordered && len(p.condemned) > 0 {
		u.limit = 0
	}
	for i := range p.slots {
		pod := p.slots[i].pod
		// A slot whose claim is still growing counts as unavailable, even if its Pod serves.
		if pod == nil || pod.DeletionTimestamp != nil || !p.Available(pod) || p.growing(p.slots[i].ordinal) {
			u.unavailable[i] = true
		}
	}
	u.deletePicked()
	for _, i := range candidates {
		if err := u.update(i); err != nil {
			return u.stage, err
		}
	}
	return u.stage, nil
}

// deletePicked deletes the Pods that the user picked, the highest ordinal first. The order of the update does not matter for them. A
// Pod that is already unavailable is deleted even if the limit is used up.
func (u *updater) deletePicked() {
	for i := len(u.slots) - 1; i >= 0; i-- {
		pod := u.slots[i].pod
		if pod == nil || pod.DeletionTimestamp != nil || !lifecycle.SpecifiedDelete(pod) {
			continue
		}
		// A picked Pod is replaced by its deletion, so the update leaves it alone in this pass.
		u.picked[i] = true
		// A Pod that has to wait stays picked, so the update does not touch it either.
		if u.unavailable[i] || len(u.unavailable) < u.limit {
			u.unavailable[i] = true
			u.ReplacePod(&u.stage, pod)
		}
	}
}

// update moves a slot one step towards the update revision, if it is its turn. Each slot that it changes counts as unavailable for
// the slots after it.
func (u *updater) update(i int) error {
	slot := &u.slots[i]
	pod := slot.pod
	if pod == nil || u.Updated(pod) && !u.outgrown(slot.ordinal) {
		return nil
	}
	// A Pod that is already unavailable costs nothing, so it does not fill the limit.
	u.full = u.full || len(u.unavailable) >= u.limit && !u.unavailable[i]
	if u.full && !preparesUpdate(pod) || u.picked[i] || pod.DeletionTimestamp != nil || engine.PreparingDelete(pod) {
		return nil
	}
	u.unavailable[i] = true
	// Claims come before the Pod. A later pass updates the Pod when its claims have their size.
	if grown, err := u.grow(slot); err != nil || !grown {
		return err
	}
	// Only the claims had to grow.
	if u.Updated(pod) {
		return nil
	}
	return u.UpdatePod(&u.stage, pod, u.Update)
}
