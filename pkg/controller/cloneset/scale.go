package cloneset

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/ordering"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/rollout"
)

// scaleStages decide how many Pods to create, or which to delete. Where none can be created, for want of quota for example, the
// second stage deletes what the user's bounds allow without them.
func (p *planner) scaleStages() ([]engine.Stage, error) {
	if regretted := p.regret(); len(regretted) > 0 {
		return []engine.Stage{{Aim: engine.Scale, Changes: regretted}}, nil
	}
	var stages []engine.Stage
	creation, err := p.creationStage()
	if err == nil && creation != nil {
		stages = append(stages, *creation, p.deletionStage(p.diff.DeleteReadyLimit))
	} else {
		limit := p.diff.DeleteReadyLimit
		if p.diff.Up > 0 {
			limit = 0 // Pods are missing already: only those that do not serve may go.
		}
		stages = append(stages, p.deletionStage(limit))
	}
	stages[0].Warn = p.limited(creation != nil)
	return stages, err
}

// limited warns that fewer Pods are created than are missing. While nothing changes, it is not said again.
func (p *planner) limited(creates bool) []engine.Notice {
	if p.diff.Up <= p.diff.UpLimit || !creates && p.set.Generation == p.set.Status.ObservedGeneration {
		return nil
	}
	return []engine.Notice{{Reason: "ScaleUpLimited", Message: fmt.Sprintf(
		"scaleUp is limited because of scaleStrategy.maxUnavailable, limit: %d", p.diff.UpLimit)}}
}

// creationStage creates the Pods that are missing, those at the current revision first, or returns nil.
func (p *planner) creationStage() (*engine.Stage, error) {
	total := p.diff.UpLimit - p.Returning()
	if total <= 0 {
		return nil, nil
	}
	older, err := p.blueprint(p.Current.Name == p.Update.Name)
	if err != nil {
		return nil, err
	}
	newer, err := p.blueprint(true)
	if err != nil {
		return nil, err
	}
	stage := &engine.Stage{Aim: engine.Scale}
	for i, id := range p.NewIDs(total) {
		blueprint := newer
		if i < p.diff.UpOld {
			blueprint = older
		}
		stage.Create = append(stage.Create, engine.Creation{Blueprint: blueprint, ID: id})
	}
	p.DeleteFinished(stage)
	return stage, nil
}

// blueprint is what new Pods have in common, at the update or at the current revision.
func (p *planner) blueprint(updated bool) (*podcontrol.Blueprint, error) {
	revision := p.Current
	if updated {
		revision = p.Update
	}
	blueprint, err := p.Blueprint(revision)
	if err != nil {
		return nil, err
	}
	blueprint.State = pub.LifecycleStatePreparingNormal
	blueprint.Gates = []corev1.PodConditionType{pub.InPlaceUpdateReadyConditionType, pub.KruisePodReadyConditionType}
	blueprint.ClaimTemplates, blueprint.ClaimLabels = p.set.Spec.VolumeClaimTemplates, p.set.Spec.Selector.MatchLabels
	return blueprint, nil
}

// deletionStage deletes Pods, of those that serve as many as the limit allows.
func (p *planner) deletionStage(limit int) engine.Stage {
	stage := engine.Stage{Aim: engine.Scale}
	p.DeleteFinished(&stage)
	for _, pod := range p.Pods {
		if engine.PreparingDelete(pod) {
			p.DeletePod(&stage, pod)
		}
	}
	limit = p.deleteSome(&stage, p.picked(), limit)
	p.deleteSome(&stage, p.surplus(), limit)
	if stage.Empty() {
		p.deleteStray(&stage)
	}
	return stage
}

// deleteSome deletes each of the Pods that does not serve, and of the others as many as the limit allows.
func (p *planner) deleteSome(stage *engine.Stage, pods []*corev1.Pod, limit int) (rest int) {
	serving := make([]bool, len(pods))
	for i, pod := range pods {
		serving[i] = p.Serving(pod)
	}
	chosen, rest := rollout.SelectDeletes(serving, limit)
	for _, i := range chosen {
		p.DeletePod(stage, pods[i])
	}
	return rest
}

// deleteStray makes room where Pods that do not serve fill the surge: those of a revision that is not wanted any longer, beyond
// the replicas. Without it a Pod picked for deletion would wait for a surge Pod, and the surge Pod for room, without end.
func (p *planner) deleteStray(stage *engine.Stage) {
	room := len(p.Pods) - p.Replicas
	for _, pod := range p.Pods {
		if room > 0 && !p.Available(pod) && !engine.PreparingDelete(pod) && p.stray(pod) {
			p.DeletePod(stage, pod)
			room--
		}
	}
}

// stray tells whether a Pod is at a revision that is neither the current nor the wanted one.
func (p *planner) stray(pod *corev1.Pod) bool {
	return !p.Updated(pod) && !engine.At(pod, p.Current)
}

// regret takes back the deletion of Pods that a hook holds, when they are wanted again. A Pod that was drained meanwhile is
// not taken back, nor one that would have to make room again.
func (p *planner) regret() (changes []engine.Change) {
	if drains(p.Lifecycle) {
		return nil
	}
	var held []*corev1.Pod
	leaving := 0
	for _, pod := range p.Pods {
		specified := p.Specified(pod)
		if specified || engine.PreparingDelete(pod) {
			leaving++
		}
		if engine.PreparingDelete(pod) && !specified && (!p.stray(pod) || len(p.Pods) <= p.Replicas) {
			held = append(held, pod)
		}
	}
	wanted := p.Replicas - len(p.Pods) + leaving
	for _, pod := range held[:max(0, min(wanted, len(held)))] {
		changes = append(changes, p.Move(pod, pub.LifecycleStatePreparingNormal))
	}
	return changes
}

func drains(hooks *pub.Lifecycle) bool {
	return hooks != nil && (hooks.PreDelete != nil && hooks.PreDelete.MarkPodNotReady ||
		hooks.InPlaceUpdate != nil && hooks.InPlaceUpdate.MarkPodNotReady)
}

// picked are the Pods that somebody, or a recreating update, chose for deletion.
func (p *planner) picked() (pods []*corev1.Pod) {
	for _, pod := range p.Pods {
		if p.Specified(pod) && !engine.PreparingDelete(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// surplus are the Pods beyond the replicas, those that cost least first.
func (p *planner) surplus() []*corev1.Pod {
	if p.diff.Down <= 0 {
		return nil
	}
	var older, preparing, newer []*corev1.Pod
	for _, pod := range p.Pods {
		switch {
		case p.Specified(pod) || engine.PreparingDelete(pod):
		case p.Updated(pod):
			newer = append(newer, pod)
		case p.preparingUpdateAsUpdate && lifecycle.Of(pod) == pub.LifecycleStatePreparingUpdate:
			preparing = append(preparing, pod)
		default:
			older = append(older, pod)
		}
	}
	fromOld := min(p.diff.DownOld, p.diff.Down, len(older))
	// What counts as updated and is not yet goes first: an updated Pod would have to be made again.
	fromPreparing := min(p.diff.Down-fromOld, len(preparing))
	return slices.Concat(p.cheapest(older, fromOld), p.cheapest(preparing, fromPreparing),
		p.cheapest(newer, p.diff.Down-fromOld-fromPreparing))
}

func (p *planner) cheapest(pods []*corev1.Pod, n int) []*corev1.Pod {
	if n >= len(pods) {
		return pods
	}
	order := ordering.Deletion{
		MinReadySeconds: p.MinReadySeconds, Now: p.Now, TopologyKeys: p.topologyKeys(), NodeLabels: p.nodeLabels,
	}
	return order.ForDeletion(pods)[:n]
}

func (p *planner) topologyKeys() (keys []string) {
	for _, constraint := range p.set.Spec.Template.Spec.TopologySpreadConstraints {
		if !slices.Contains(keys, constraint.TopologyKey) {
			keys = append(keys, constraint.TopologyKey)
		}
	}
	return keys
}
