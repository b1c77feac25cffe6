package cloneset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/ordering"
	"kruise.io/kruise/pkg/workload/rollout"
)

// candidates returns the Pods to bring to the target revision, in the order of their update. It returns no more Pods than are
// wanted there.
func (p *planner) candidates() ([]*corev1.Pod, *appsv1.ControllerRevision, error) {
	if p.diff.UpdateNum == 0 || onDelete(p.set) {
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
	ordered = ordering.PreparingFirst(ordered)
	return ordered[:min(wanted, len(ordered))], target, nil
}

// outdated returns the Pods that may be brought to the target. In a rollback, only Pods at the update revision may.
func (p *planner) outdated(target *appsv1.ControllerRevision) (pods []*corev1.Pod) {
	back := target != p.Update
	for _, pod := range p.Pods {
		waits := inplace.Delayed(pod) && lifecycle.Of(pod) != pub.LifecycleStateUpdated && !p.Overdue(pod)
		if p.At(pod, target) || engine.PreparingDelete(pod) || p.Specified(pod) || waits || back && !p.Updated(pod) {
			continue
		}
		pods = append(pods, pod)
	}
	return pods
}

// selectUpdates returns the indexes of the candidates that may be updated now.
func (p *planner) selectUpdates(ordered []*corev1.Pod, target *appsv1.ControllerRevision) []int {
	var census rollout.Census
	for _, pod := range p.Pods {
		available := p.Available(pod)
		census.Unavailable += one(!available)
		census.UnavailableAtTarget += one(!available && p.At(pod, target))
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

func one(condition bool) int {
	if condition {
		return 1
	}
	return 0
}
