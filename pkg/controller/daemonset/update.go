package daemonset

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/podstate"
)

// update returns the stage that brings Pods to the wanted revision. Managing has nothing to do in such a pass, so each node has one
// Pod at most, except for what is still in progress.
func (p *planner) update(a amounts) (engine.Stage, error) {
	if a.maxSurge > 0 {
		return p.surge(a)
	}
	stage := engine.Stage{Aim: engine.Update}
	unavailable := 0
	var broken, candidates []*corev1.Pod
	for _, at := range p.chosen(a.partition) {
		updated, outdated, clear := p.versions(at)
		switch {
		case !clear, (updated == nil) == (outdated == nil):
			// A creation or a deletion is missing, or not complete.
			unavailable++
		case updated != nil:
			unavailable += one(!p.Available(updated))
		case !p.Available(outdated):
			// Its replacement makes nothing worse.
			broken = append(broken, outdated)
			unavailable++
		default:
			candidates = append(candidates, outdated)
		}
	}
	// Broken Pods are replaced even beyond maxUnavailable, as in Kubernetes.
	free := max(0, min(a.maxUnavailable-unavailable, len(candidates)))
	err := p.replace(&stage, slices.Concat(broken, candidates[:free]))
	// Pods beyond the burst wait for the next pass.
	stage.Updates = stage.Updates[:min(len(stage.Updates), a.burst)]
	stage.Delete = stage.Delete[:min(len(stage.Delete), a.burst)]
	return stage, err
}

// replace updates Pods in place where that is possible, and deletes the others. A Pod without the readiness gate cannot be taken out
// of service first, so it is deleted instead. A Pod that a hook already holds goes on with its deletion. A Pod that cannot be decided
// about, for example because of an unknown lifecycle state, does not stop the others.
func (p *planner) replace(stage *engine.Stage, pods []*corev1.Pod) error {
	var failures []error
	for _, pod := range pods {
		if !hasGate(pod) || !podstate.Active(pod) || engine.PreparingDelete(pod) {
			p.DeletePod(stage, pod)
			continue
		}
		failures = append(failures, p.UpdatePod(stage, pod, p.Update))
	}
	return errors.Join(failures...)
}

// chosen returns the nodes that the rolling update reaches, in its order: those that are updated first, then those whose update goes
// on, then the others. Within these, the highest name is first. The partition leaves nodes out at the end. Nodes that are updated
// come first, so that they fill the number that the partition leaves. A node that was once updated then stays in this number.
func (p *planner) chosen(partition int) []*place {
	canary := nodeSelector(p.set)
	var done, begun, others []*place
	total := 0
	for _, at := range slices.Backward(p.places) {
		if p.leftOut(at) {
			continue
		}
		total++
		updated, outdated, clear := p.versions(at)
		switch {
		case !clear, updated != nil:
			done = append(done, at)
		// Here, the old Pod is already deleted, or its hook holds it. Such a node keeps its turn, so an update does not begin on too
		// many nodes.
		case outdated == nil, engine.PreparingDelete(outdated):
			begun = append(begun, at)
		// A node that the selector leaves out counts in total, and is never in the result.
		case canary == nil, canary.Matches(labels.Set(at.node.Labels)):
			others = append(others, at)
		}
	}
	ordered := slices.Concat(done, begun, others)
	return ordered[:max(0, min(total-partition, len(ordered)))]
}

// leftOut reports whether a node does not count in the rolling update: the node does not exist, there is nothing to update, or, with
// the feature gate, no Pod is to run there. Pods that only terminate on a node where none is to run do not count either: nobody waits
// for their replacements. A node that does not exist must not fill maxUnavailable.
func (p *planner) leftOut(at *place) bool {
	switch {
	case at.node == nil:
		return true
	case at.run:
		return false
	default:
		return p.prune || !slices.ContainsFunc(at.pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil })
	}
}
