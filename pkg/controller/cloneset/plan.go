package cloneset

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/rollout"
)

// planner decides what one pass does for a CloneSet. It only reads.
type planner struct {
	*engine.View
	settings
	set        *v1beta1.CloneSet
	rolling    *v1beta1.RollingUpdateCloneSetStrategy
	nodeLabels func(node string) map[string]string
	diff       rollout.Diff
}

func newPlanner(v *engine.View, set *v1beta1.CloneSet, s settings, nodeLabels func(string) map[string]string) *planner {
	return &planner{View: v, settings: s, set: set, rolling: rollingOf(set), nodeLabels: nodeLabels}
}

// plan returns the stages of scaling, followed by the stage of updates. The engine runs the update stage only if scaling changes
// nothing.
func (p *planner) plan() *engine.Plan {
	var err error
	if p.diff, err = p.calculate(); err != nil {
		return &engine.Plan{Awaited: p.preparingUpdate(), Err: engine.Failures{Scale: err, Update: err}}
	}
	plan := &engine.Plan{}
	plan.Stages, plan.Err.Scale = p.scaleStages()
	candidates, target, err := p.candidates()
	if err != nil {
		plan.Awaited, plan.Err.Update = p.preparingUpdate(), err
		return plan
	}
	plan.Awaited = p.awaited(candidates)
	if p.rolling.Paused || len(candidates) == 0 {
		return plan
	}
	stage, err := p.updateStage(candidates, target)
	plan.Stages, plan.Err.Update = append(plan.Stages, stage), err
	return plan
}

// calculate runs the rollout arithmetic over the Pods.
func (p *planner) calculate() (rollout.Diff, error) {
	pods := make([]rollout.Pod, 0, len(p.Pods))
	for _, pod := range p.Pods {
		pods = append(pods, rollout.Pod{
			New: p.Updated(pod), Available: p.Available(pod), SpecifiedDelete: p.Specified(pod),
			PreparingUpdate: lifecycle.Of(pod) == pub.LifecycleStatePreparingUpdate, PreparingDelete: engine.PreparingDelete(pod),
		})
	}
	diff, err := rollout.Calculate(rollout.Spec{
		Replicas: p.Replicas, Partition: p.rolling.Partition, MaxUnavailable: p.rolling.MaxUnavailable, MaxSurge: p.rolling.MaxSurge,
		ScaleMaxUnavailable: p.set.Spec.ScaleStrategy.MaxUnavailable, Paused: p.rolling.Paused,
		SameRevision: p.Current.Name == p.Update.Name, Rollback: p.rollback,
		ExcludePreparingDelete:  p.excludePreparingDelete || p.set.Spec.ScaleStrategy.ExcludePreparingDelete,
		PreparingUpdateAsUpdate: p.preparingUpdateAsUpdate,
	}, pods)
	if err != nil {
		return diff, fmt.Errorf("calculate the plan: %w", err)
	}
	return diff, nil
}

// onDelete reports whether Pods are updated only when a user deletes them.
func onDelete(set *v1beta1.CloneSet) bool {
	return set.Spec.UpdateStrategy.Type == v1beta1.OnDeleteCloneSetStrategyType
}

// preparingUpdate returns the Pods that wait for the hook of their update.
func (p *planner) preparingUpdate() map[types.UID]bool {
	waiting := map[types.UID]bool{}
	for _, pod := range p.Pods {
		if lifecycle.Of(pod) == pub.LifecycleStatePreparingUpdate {
			waiting[pod.UID] = true
		}
	}
	return waiting
}

// awaited returns the Pods that wait for their hook and whose update is still wanted. It is no longer wanted if the template
// returned to the Pod's revision, or if the partition now holds the Pod back. A pause keeps the Pods waiting.
func (p *planner) awaited(candidates []*corev1.Pod) map[types.UID]bool {
	wanted := map[types.UID]bool{}
	for _, pod := range candidates {
		wanted[pod.UID] = lifecycle.Of(pod) == pub.LifecycleStatePreparingUpdate
	}
	return wanted
}

// updateStage updates as many of the candidates as may be updated now. The error holds the Pods whose update could not be
// decided.
func (p *planner) updateStage(candidates []*corev1.Pod, target *appsv1.ControllerRevision) (engine.Stage, error) {
	stage := engine.Stage{Aim: engine.Update}
	var failures []error
	for _, i := range p.selectUpdates(candidates, target) {
		failures = append(failures, p.UpdatePod(&stage, candidates[i], target))
	}
	return stage, errors.Join(failures...)
}
