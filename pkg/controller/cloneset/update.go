package cloneset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/ordering"
	"kruise.io/kruise/pkg/workload/rollout"
)

// candidates returns the Pods to bring to the target revision, in the order of their update. It returns no more Pods than are wanted
// there. The result is nil without an error if no update is due, or if updates are stopped. A negative UpdateNum is a rollback to the
// current revision: see rollout.Diff.
func (p *planner) candidates() ([]*corev1.Pod, *appsv1.ControllerRevision, error) {
	if p.diff.UpdateNum == 0 || p.Stopped {
		return nil, nil, nil
	}
	target, wanted := p.Update, p.diff.UpdateNum
	if wanted < 0 {
		target, wanted = p.Current, -wanted
	}
	ordered, err := ordering.ByStrategy(ordering.ForUpdate(p.outdated(target)), p.Pods, p.rolling.PriorityStrategy, p.rolling.ScatterStrategy)
	if err != nil {
		return nil, nil, err
	}
	// Pods that already wait for their hook come first. Another Pod in their place would be prepared in addition.
	ordered = ordering.PreparingFirst(ordered)
	return ordered[:min(wanted, len(ordered))], target, nil
}

// outdated returns the Pods that may be brought to the target. In a rollback, only Pods at the update revision may. Pods that are
// deleted anyway are not updated first.
func (p *planner) outdated(target *appsv1.ControllerRevision) (pods []*corev1.Pod) {
	back := target != p.Update
	for _, pod := range p.Pods {
		if p.At(pod, target) || engine.PreparingDelete(pod) || p.Specified(pod) || back && !p.Updated(pod) {
			continue
		}
		pods = append(pods, pod)
	}
	return pods
}

// selectUpdates returns the indexes of the candidates that may be updated now. All Pods count for the limits, not only the
// candidates: a broken Pod at the target revision uses up a part of maxUnavailable.
func (p *planner) selectUpdates(ordered []*corev1.Pod, target *appsv1.ControllerRevision) []int {
	var census rollout.Census
	for _, pod := range p.Pods {
		available := p.Available(pod)
		census.Unavailable += one(!available)
		census.UnavailableAtTarget += one(!available && p.At(pod, target))
		// A picked Pod at another revision is about to be replaced, so it counts as a part of the same update.
		picked := p.Specified(pod) && !engine.PreparingDelete(pod) && !p.At(pod, target)
		census.Picked += one(picked)
		census.PickedAvailable += one(picked && available)
	}
	candidates := make([]rollout.Candidate, 0, len(ordered))
	for _, pod := range ordered {
		candidates = append(candidates, rollout.Candidate{Available: p.Available(pod)})
	}
	return p.diff.SelectUpdates(candidates, census)
}

// one returns 1 for true and 0 for false.
func one(condition bool) int {
	if condition {
		return 1
	}
	return 0
}
