package daemonset

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/ordering"
	"kruise.io/kruise/pkg/workload/podstate"
)

// surge returns the stage that creates new Pods beside old ones. Managing deletes an old Pod when its replacement stands in for it.
// On nodes where no Pod is to run any more, old Pods go as far as there are enough available Pods without them. Nodes whose old Pod
// is broken get their new Pod without regard to maxSurge: their old Pod serves nobody.
func (p *planner) surge(a amounts) (engine.Stage, error) {
	stage := engine.Stage{Aim: engine.Update}
	// surging counts the nodes with a replacement that does not stand in yet. available counts the nodes that are served.
	surging, available := 0, 0
	var broken, candidates []*place
	var leaving []*corev1.Pod
	for _, at := range p.chosen(a.partition) {
		updated, outdated, clear := p.versions(at)
		// What comes next on this node is not known yet, so it uses up a part of maxSurge.
		if !clear {
			surging++
			continue
		}
		available += one(outdated != nil && p.Available(outdated) || outdated == nil && updated != nil && p.Available(updated))
		switch {
		case outdated == nil:
		// The old Pod of this node still serves. Managing deletes it.
		case updated != nil:
			surging += one(!p.Available(updated) || p.standsInAfter(updated) > 0)
		// A broken Pod on a node where none is to run has no replacement to wait for.
		case !at.run && !p.Available(outdated):
			p.DeletePod(&stage, outdated)
		case !at.run:
			leaving = append(leaving, outdated)
		case !p.Available(outdated):
			broken = append(broken, at)
		default:
			candidates = append(candidates, at)
		}
	}
	// These Pods have no replacement on their nodes. They go only while the other nodes have enough available Pods.
	for _, pod := range leaving[:max(0, min(available-p.desired, len(leaving)))] {
		p.DeletePod(&stage, pod)
	}
	free := max(0, min(a.maxSurge-surging, len(candidates)))
	return stage, p.create(&stage, append(ordering.Shuffled(broken), ordering.Shuffled(candidates)[:free]...), a.burst)
}

// standsInAfter returns how long a ready Pod must still be ready before the old Pod of its node goes. The time of a Pod's readiness
// has whole seconds, so a second is added: a watcher then never finds the old Pod gone too early.
func (p *planner) standsInAfter(pod *corev1.Pod) time.Duration {
	// Without minReadySeconds, a ready Pod stands in at once. The caller checks its readiness.
	if p.MinReadySeconds == 0 {
		return 0
	}
	return podstate.AvailableIn(pod, min(p.MinReadySeconds, math.MaxInt32-1)+1, p.Now)
}
