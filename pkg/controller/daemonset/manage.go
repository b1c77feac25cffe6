package daemonset

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/nodefit"
	"kruise.io/kruise/pkg/workload/ordering"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/podstate"
)

// defaultBurst is how many Pods a pass creates, and how many it deletes, if the spec does not say. It is the same number as in
// Kubernetes. It limits the load of one pass on a large cluster.
const defaultBurst = 250

// manage returns the stage that creates missing Pods, and deletes Pods that fail or that are too many on their node. The burst is the
// limit of creations and, separately, of deletions. What is beyond it waits for the next pass.
func (p *planner) manage(a amounts) (engine.Stage, error) {
	stage := engine.Stage{Aim: engine.Scale}
	var missing []*place
	for _, at := range p.places {
		if p.manageNode(&stage, at, a) {
			missing = append(missing, at)
		}
	}
	err := p.create(&stage, ordering.Shuffled(p.progressive(missing, a.partition)), a.burst)
	// The nodes are sorted by name, so the names decide which deletions wait.
	stage.Delete = stage.Delete[:min(len(stage.Delete), a.burst)]
	return stage, err
}

// manageNode deletes what is to go from a node, and returns whether a Pod is missing there. A node whose Pods ended gets a new Pod
// only after they are deleted, in a later pass.
func (p *planner) manageNode(stage *engine.Stage, at *place, a amounts) (missing bool) {
	switch {
	// The next pass sees the adopted Pod. A creation now could make a second Pod on the node.
	case at.adopting:
	case at.node == nil:
		// The Pods that ran there are deleted by the garbage collector of Pods.
		for _, pod := range at.pods {
			// That collector does not know Pods which were never bound to the node.
			if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
				p.DeletePod(stage, pod)
			}
		}
	// A terminating Pod counts as a Pod of the node, so the new one is created only when its containers have ended.
	case p.empty(at):
		return true
	// The node is no longer selected, or has a taint NoExecute that the Pods do not tolerate.
	case !at.stay:
		for _, pod := range at.pods {
			if pod.DeletionTimestamp == nil {
				p.DeletePod(stage, pod)
			}
		}
	default:
		running := p.deleteEnded(stage, at, a.burst)
		// With surge, a node may have an old Pod and its replacement.
		if a.maxSurge > 0 {
			p.keepTwo(stage, running)
			// A Pod that ended is deleted first here too, unless a hook holds it. Otherwise Pods that always fail would be created without
			// a delay.
			return len(running) == 0 && at.run && !slices.ContainsFunc(at.pods, ended)
		}
		// Without surge, a node keeps its oldest Pod. More than one can exist after an adoption or after a surge was switched off.
		for _, pod := range running[min(1, len(running)):] {
			p.DeletePod(stage, pod)
		}
	}
	return false
}

// empty reports whether a node is to have a Pod and has none.
func (p *planner) empty(at *place) bool {
	return at.node != nil && at.run && !at.adopting && !slices.ContainsFunc(at.pods, fills)
}

// missing returns the nodes that are to have a Pod and have none.
func (p *planner) missing() (missing []*place) {
	for _, at := range p.places {
		if p.empty(at) {
			missing = append(missing, at)
		}
	}
	return missing
}

// fills reports whether a Pod keeps another one off its node. A Pod whose containers have ended and that is being deleted does not: only a
// finalizer keeps it.
func fills(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil || !podstate.Finished(pod) }

// ended reports whether a Pod has ended and is still to be deleted. No hook holds it.
func ended(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && podstate.Finished(pod) && !engine.PreparingDelete(pod)
}

// deleteEnded deletes the Pods of a node that ended, and those whose deletion waits for a hook. It returns the other Pods that are
// not terminating. A failed Pod beyond the burst stays until a later pass, and the back-off of its node does not begin before that.
func (p *planner) deleteEnded(stage *engine.Stage, at *place, burst int) (running []*corev1.Pod) {
	wait := p.failedWait(at.name)
	for _, pod := range at.pods {
		switch {
		case pod.DeletionTimestamp != nil:
		case engine.PreparingDelete(pod), engine.GivenUp(pod):
			p.DeletePod(stage, pod)
		// The failed Pod stays on its node until the delay is over, so no new Pod is created there.
		case pod.Status.Phase == corev1.PodFailed && wait > 0:
			p.recheck = delay.Sooner(p.recheck, wait)
		case pod.Status.Phase == corev1.PodFailed && len(stage.Delete) >= burst:
		// The first deletion on a node is at once. Each one makes the next one wait longer.
		case pod.Status.Phase == corev1.PodFailed:
			if !slices.Contains(p.opened, at.name) {
				p.opened = append(p.opened, at.name)
			}
			p.endedEvent(stage, pod, at.name, "FailedDaemonPod", "Found failed daemon pod %s/%s on node %s, will try to kill it")
			p.DeletePod(stage, pod)
		case pod.Status.Phase == corev1.PodSucceeded:
			p.endedEvent(stage, pod, at.name, "SucceededDaemonPod", "Found succeeded daemon pod %s/%s on node %s, will try to delete it")
			p.DeletePod(stage, pod)
		default:
			running = append(running, pod)
		}
	}
	return running
}

// endedEvent adds the event about a Pod that ended. Reasons and messages are those of DaemonSets of Kubernetes.
func (p *planner) endedEvent(stage *engine.Stage, pod *corev1.Pod, node, reason, format string) {
	stage.Warn = append(stage.Warn, engine.Notice{
		Reason: reason, Message: fmt.Sprintf(format, pod.Namespace, pod.Name, node), Normal: reason == "SucceededDaemonPod",
	})
}

// keepTwo keeps the oldest Pod of the wanted revision and the oldest of another one. The latter stays until the former can stand in
// for it, or until it is not ready itself. running is sorted by age, so the first Pod of each kind is the oldest.
func (p *planner) keepTwo(stage *engine.Stage, running []*corev1.Pod) {
	var updated, outdated *corev1.Pod
	for _, pod := range running {
		which := &outdated
		if p.Updated(pod) {
			which = &updated
		}
		// A second Pod of the same kind comes from an adoption, or from a creation whose answer was lost.
		if *which == nil {
			*which = pod
		} else {
			p.DeletePod(stage, pod)
		}
	}
	if updated == nil || outdated == nil {
		return
	}
	// A Pod that is not ready serves nobody, so it need not wait for its replacement.
	if left := p.standsInAfter(updated); !p.Ready(outdated) || left == 0 && p.Serving(updated) {
		p.DeletePod(stage, outdated)
	} else {
		p.recheck = delay.Sooner(p.recheck, left)
	}
}

// progressive limits creations to the nodes that the partition leaves to the wanted revision, if the spec asks for it. Without this
// limit, nodes that join during a rollout would all get the new revision, whatever the partition is.
func (p *planner) progressive(missing []*place, partition int) []*place {
	if !p.set.Spec.ScaleStrategy.PartitionedScaling || onDelete(p.set) || partition == 0 {
		return missing
	}
	updated := 0
	for _, at := range p.places {
		// A node that is not clear counts as updated, so too few Pods are created rather than too many.
		if pod, _, clear := p.versions(at); !clear || pod != nil {
			updated++
		}
	}
	room := p.desired - updated - min(max(0, partition), p.desired)
	return missing[:min(len(missing), max(0, room))]
}

// create creates Pods of the wanted revision on nodes, as many as a pass may.
func (p *planner) create(stage *engine.Stage, nodes []*place, burst int) error {
	nodes = nodes[:min(len(nodes), max(0, burst-len(stage.Create)))]
	if len(nodes) == 0 {
		return nil
	}
	blueprint, nodeOf, err := p.blueprint()
	if err != nil {
		return err
	}
	names := make([]string, 0, len(nodes))
	for _, at := range nodes {
		names = append(names, at.name)
	}
	ids, err := p.PlaceIDs(names)
	if err != nil {
		return err
	}
	for i, id := range ids {
		nodeOf[id] = names[i]
		stage.Create = append(stage.Create, engine.Creation{Blueprint: blueprint, ID: id})
	}
	return nil
}

// deprecatedGeneration is an annotation of a DaemonSet, and templateGeneration is the label of its Pods for it.
const (
	// The DaemonSet controller of Kubernetes writes the label from the annotation in the same way.
	deprecatedGeneration = "deprecated.daemonset.template.generation"
	templateGeneration   = "pod-template-generation"
	// ownScheduler is the name of the scheduler of Pods that are bound by this controller.
	ownScheduler = "kubernetes.io/daemonset-controller"
)

// blueprint returns what new Pods have in common. The caller fills the returned map with the node of each ID. The map is filled
// later, because the IDs of the Pods are not known yet.
func (p *planner) blueprint() (*podcontrol.Blueprint, map[string]string, error) {
	blueprint, err := p.Blueprint(p.Update)
	if err != nil {
		return nil, nil, err
	}
	// The template is shared by the whole pass, and must not get the tolerations.
	blueprint.Template = blueprint.Template.DeepCopy()
	tolerate(&blueprint.Template.Spec)
	blueprint.Gates = []corev1.PodConditionType{pub.KruisePodReadyConditionType}
	// Readiness gates cannot be added to a running Pod, so Pods that may be updated in place later need the gate now.
	if inPlace(p.set) {
		blueprint.Gates = append(blueprint.Gates, pub.InPlaceUpdateReadyConditionType)
	}
	nodeOf := map[string]string{}
	blueprint.Complete = func(pod *corev1.Pod, id string) {
		pod.GenerateName = p.set.Name + "-"
		if generation, found := p.set.Annotations[deprecatedGeneration]; found {
			pod.Labels[templateGeneration] = generation
		}
		// Without this setting, the scheduler binds the Pod to the node that the affinity names, and checks resources on the way.
		if p.bindPods {
			pod.Spec.NodeName, pod.Spec.SchedulerName = nodeOf[id], ownScheduler
		} else {
			nodefit.Pin(pod, nodeOf[id])
		}
	}
	return blueprint, nodeOf, nil
}

// hasGate reports whether the Pod can be taken out of service for an update in place.
func hasGate(pod *corev1.Pod) bool { return podstate.HasGate(pod, pub.InPlaceUpdateReadyConditionType) }
