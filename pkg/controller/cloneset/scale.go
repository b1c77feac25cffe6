package cloneset

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/ordering"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/rollout"
)

// scaleStages returns the stages that create and delete Pods. If the first stage cannot create Pods, for example because of a quota,
// the second stage still deletes what the user's limits allow without the new Pods. An error concerns the creations only. Deletions
// do not need the templates of revisions.
func (p *planner) scaleStages() ([]engine.Stage, error) {
	if undeleted := p.undelete(); len(undeleted) > 0 {
		// Pods that are taken back change the numbers of everything else, so the rest waits for the next pass.
		return []engine.Stage{{Aim: engine.Scale, Changes: undeleted}}, nil
	}
	var stages []engine.Stage
	creation, err := p.creationStage()
	// The deletion stage runs only if the creations changed nothing.
	if err == nil && creation != nil {
		stages = append(stages, *creation, p.deletionStage(p.diff.DeleteReadyLimit))
	} else {
		limit := p.diff.DeleteReadyLimit
		if p.diff.Up > 0 {
			limit = 0 // Pods are missing already: only Pods that do not serve may be deleted.
		}
		stages = append(stages, p.deletionStage(limit))
	}
	// There is always at least the stage of deletions, even if it is empty.
	stages[0].Warn = p.limited(creation != nil)
	return stages, err
}

// limited warns that fewer Pods are created than are missing. The warning is not repeated while nothing changes. A pass that creates
// nothing for a known generation has sent the warning before.
func (p *planner) limited(creates bool) []engine.Notice {
	known := p.Again() || p.set.Generation == p.set.Status.ObservedGeneration
	if p.diff.Up <= p.diff.UpLimit || !creates && known {
		return nil
	}
	return []engine.Notice{{Reason: "ScaleUpLimited", Message: fmt.Sprintf(
		"scaleUp is limited because of scaleStrategy.maxUnavailable, limit: %d", p.diff.UpLimit)}}
}

// maxCreations is how many Pods a pass plans to create. It is more than a pass has time for, and the Pods that it creates cause the next
// one. So the work of a pass does not depend on the number of replicas, which can be any.
const maxCreations = 1000

// creationStage returns the stage that creates the missing Pods, those at the current revision first. It returns nil if none is to be
// created. No other Pod takes the place of lost Pods that will come back with their claims.
func (p *planner) creationStage() (*engine.Stage, error) {
	total := min(p.diff.UpLimit, p.Creatable(p.diff.Up), maxCreations)
	if total <= 0 {
		return nil, nil
	}
	// Both templates are read before any Pod is created. A revision that cannot be decoded creates no part of the Pods.
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
	// A Pod that ended still has the name and the claims that its replacement needs.
	p.DeleteFinished(stage)
	return stage, nil
}

// blueprint returns what new Pods at the update revision, or at the current revision, have in common. New Pods start in state
// PreparingNormal, with both readiness gates. Gates cannot be added to a running Pod, and a later update in place or a hook needs
// them.
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
	blueprint.ClaimLabels = p.set.Spec.Selector.MatchLabels
	blueprint.ClaimTemplates, err = claimTemplates(p.set.Spec.VolumeClaimTemplates, revision, blueprint.Template)
	return blueprint, err
}

// deletionStage deletes Pods. At most limit of them may be serving. The order is: Pods whose deletion already began, Pods that
// somebody picked, then surplus Pods. The last two groups share the limit.
func (p *planner) deletionStage(limit int) engine.Stage {
	stage := engine.Stage{Aim: engine.Scale}
	p.DeleteFinished(&stage)
	for _, pod := range p.Pods {
		if engine.PreparingDelete(pod) {
			p.DeletePod(&stage, pod)
		}
	}
	picked := p.picked()
	limit = p.deleteSome(&stage, picked, limit)
	p.deleteSome(&stage, p.surplus(), limit)
	// Strays are deleted only if a picked Pod waits and nothing else can be deleted, because other deletions also make room.
	if len(picked) > 0 && stage.Empty() {
		p.deleteStray(&stage)
	}
	return stage
}

// deleteSome deletes every Pod that is not available, and at most limit Pods that are. It returns the rest of the limit. A Pod that is not
// available costs no availability, also if it is ready and minReadySeconds have not passed, so the limit does not hold it.
func (p *planner) deleteSome(stage *engine.Stage, pods []*corev1.Pod, limit int) (rest int) {
	available := make([]bool, len(pods))
	for i, pod := range pods {
		available[i] = p.Available(pod)
	}
	chosen, rest := rollout.SelectDeletes(available, limit)
	for _, i := range chosen {
		p.DeletePod(stage, pods[i])
	}
	return rest
}

// deleteStray deletes Pods beyond the replicas that are not available and whose revision is no longer wanted. Such Pods can fill
// the surge. Without this step, a Pod picked for deletion would wait forever for a surge Pod, and the surge Pod would wait
// forever for room. A Pod that is being updated in place stays, with its claims, if the update is about to go on to the newest revision.
func (p *planner) deleteStray(stage *engine.Stage) {
	goesOn := map[types.UID]bool{}
	// An error is reported by the update itself.
	candidates, _, _ := p.candidates()
	for _, pod := range candidates {
		goesOn[pod.UID] = lifecycle.Updating(pod)
	}
	// room keeps the number of Pods at the replicas or above, so that no stray has to be created again.
	room := len(p.Pods) - p.Replicas
	for _, pod := range p.Pods {
		if room > 0 && !p.Available(pod) && !engine.PreparingDelete(pod) && p.stray(pod) && !goesOn[pod.UID] {
			p.DeletePod(stage, pod)
			room--
		}
	}
}

// stray reports whether a Pod is at a revision that is neither the current nor the update revision. The template changed again during
// a rollout.
func (p *planner) stray(pod *corev1.Pod) bool {
	return !p.Updated(pod) && !p.At(pod, p.Current)
}

// undelete cancels the deletion of Pods that a hook holds and that are wanted again. It does not cancel the deletion of a drained
// Pod, or of a Pod that would have to be deleted again to make room.
func (p *planner) undelete() (changes []engine.Change) {
	// A hook that drains has already taken the Pod out of service, so its deletion is not canceled.
	if lifecycle.Drains(p.Lifecycle) {
		return nil
	}
	var held []*corev1.Pod
	// leaving counts the Pods that go anyway. wanted is how many of them the replicas need back.
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

// picked returns the Pods that a user, or an update by recreation, picked for deletion. Pods that the preDelete hook holds are left
// out: their deletion has begun, and the deletion stage continues it first.
func (p *planner) picked() (pods []*corev1.Pod) {
	for _, pod := range p.Pods {
		if p.Specified(pod) && !engine.PreparingDelete(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// surplus returns the Pods beyond the replicas that are to be deleted, those whose loss costs least first. Older Pods go first, up to
// DownOld, because the partition says how many of them stay.
func (p *planner) surplus() []*corev1.Pod {
	if p.diff.Down <= 0 {
		return nil
	}
	var older, preparing, newer []*corev1.Pod
	for _, pod := range p.Pods {
		switch {
		// These Pods go anyway and are not part of Down.
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
	// Pods that only count as updated are deleted before updated Pods, because a deleted updated Pod would have to be created
	// again.
	fromPreparing := min(p.diff.Down-fromOld, len(preparing))
	return slices.Concat(p.cheapest(older, fromOld), p.cheapest(preparing, fromPreparing),
		p.cheapest(newer, p.diff.Down-fromOld-fromPreparing))
}

// cheapest returns the n Pods whose loss costs least. The order is computed over the given Pods alone, because the spread counts only
// Pods of the group from which one is chosen.
func (p *planner) cheapest(pods []*corev1.Pod, n int) []*corev1.Pod {
	if n >= len(pods) {
		return pods
	}
	order := ordering.Deletion{
		MinReadySeconds: p.MinReadySeconds, Now: p.Now, TopologyKeys: p.topologyKeys(), NodeLabels: p.nodeLabels,
	}
	return order.ForDeletion(pods)[:n]
}

// topologyKeys returns the keys of the spread constraints, each once. They come from the wanted template, so an update of the
// constraints also changes which Pods go first.
func (p *planner) topologyKeys() (keys []string) {
	for _, constraint := range p.set.Spec.Template.Spec.TopologySpreadConstraints {
		if !slices.Contains(keys, constraint.TopologyKey) {
			keys = append(keys, constraint.TopologyKey)
		}
	}
	return keys
}
