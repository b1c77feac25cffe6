package cloneset

import (
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/rollout"
)

// planner decides what one pass does for a CloneSet. It only reads. It is made for one pass and never used for the next one.
type planner struct {
	*engine.View
	settings
	set *v1beta1.CloneSet
	// rolling are the settings that are in force, see kinds.RollingUpdateOf.
	rolling *v1beta1.RollingUpdateCloneSetStrategy
	// nodeLabels returns the labels of a node, or nil.
	nodeLabels func(node string) map[string]string
	// diff holds the numbers of the rollout. plan sets it first, and the other methods only read it.
	diff rollout.Diff
}

// newPlanner returns a planner whose diff is not computed yet. Methods for the status and for downloads do not need the diff.
func newPlanner(v *engine.View, set *v1beta1.CloneSet, s settings, nodeLabels func(string) map[string]string) *planner {
	return &planner{View: v, settings: s, set: set, rolling: kinds.RollingUpdateOf(set), nodeLabels: nodeLabels}
}

// plan returns the stages of scaling, followed by the stage of updates. The engine runs the update stage only if scaling changes
// nothing.
func (p *planner) plan() *engine.Plan {
	var err error
	if p.diff, err = p.calculate(); err != nil {
		// Without numbers, nothing is decided. Pods that wait for their hook keep waiting, because nobody knows whether their update
		// is still wanted. Only a pause is known.
		return &engine.Plan{Awaited: p.preparingUpdate(), Err: engine.Failures{Scale: err, Update: err}}
	}
	plan := &engine.Plan{}
	plan.Stages, plan.Err.Scale = p.scaleStages()
	// The update is planned even if scaling has stages. The engine drops it when a stage before it changes something, and the next
	// pass decides it on fresh Pods.
	candidates, target, err := p.candidates()
	if err != nil {
		plan.Awaited, plan.Err.Update = p.preparingUpdate(), err
		return plan
	}
	plan.Awaited = p.awaited(candidates)
	if len(candidates) == 0 {
		return plan
	}
	// A Pod whose update could not be decided does not stop the others: the stage runs and the error is reported.
	stage, err := p.updateStage(candidates, target)
	plan.Stages, plan.Err.Update = append(plan.Stages, stage), err
	return plan
}

// calculate runs the rollout arithmetic over the Pods. An error means that a number or percentage in the spec cannot be resolved.
// Validation refuses such values.
func (p *planner) calculate() (rollout.Diff, error) {
	// The arithmetic sees only what counts for it, so its tests need no Pods.
	pods := make([]rollout.Pod, 0, len(p.Pods))
	for _, pod := range p.Pods {
		pods = append(pods, rollout.Pod{
			New: p.Updated(pod), Available: p.Available(pod), SpecifiedDelete: p.Specified(pod),
			PreparingUpdate: lifecycle.Of(pod) == pub.LifecycleStatePreparingUpdate, PreparingDelete: engine.PreparingDelete(pod),
		})
	}
	diff, err := rollout.Calculate(rollout.Spec{
		Replicas: p.Replicas, Partition: p.rolling.Partition, MaxUnavailable: p.rolling.MaxUnavailable, MaxSurge: p.rolling.MaxSurge,
		ScaleMaxUnavailable: p.set.Spec.ScaleStrategy.MaxUnavailable, Paused: p.rolling.Paused, Quiet: p.quiet(),
		SameRevision: p.Current.Name == p.Update.Name, Rollback: p.rollback,
		ExcludePreparingDelete:  p.excludes(),
		PreparingUpdateAsUpdate: p.preparingUpdateAsUpdate,
	}, pods)
	if err != nil {
		return diff, fmt.Errorf("calculate the plan: %w", err)
	}
	return diff, nil
}

// quiet reports whether no update takes a Pod out of service, forwards or back. Surge would then create and delete Pods for nothing. A hook
// can take a Pod out of service by itself. The answer matters only if there is a maxSurge.
func (p *planner) quiet() bool {
	if p.rolling.MaxSurge == nil || p.InPlaceHook() != nil {
		return false
	}
	return !slices.ContainsFunc(p.Pods, func(pod *corev1.Pod) bool {
		target := p.Update
		if p.Updated(pod) {
			target = p.Current
		}
		return !p.At(pod, target) && p.TakesOutOfService(pod, target)
	})
}

// excludes reports whether Pods that a preDelete hook holds do not count as replicas: by a flag, or by a field or label of the
// CloneSet. The apiserver keeps both in agreement, except for objects that nobody has written since an earlier release.
func (p *planner) excludes() bool {
	return p.excludePreparingDelete || p.set.Spec.ScaleStrategy.ExcludePreparingDelete ||
		p.set.Labels[pub.CloneSetScalingExcludePreparingDeleteKey] == "true"
}

// onDelete reports whether Pods are updated only when a user deletes them. Deletions and scaling are the same as with a rolling
// update.
func onDelete(set *v1beta1.CloneSet) bool {
	return set.Spec.UpdateStrategy.Type == v1beta1.OnDeleteCloneSetStrategyType
}

// preparingUpdate returns the Pods that wait for the hook of their update. It stands in for awaited when the candidates are not
// known.
func (p *planner) preparingUpdate() map[types.UID]bool {
	waiting := map[types.UID]bool{}
	for _, pod := range p.Pods {
		if !p.Stopped && lifecycle.Of(pod) == pub.LifecycleStatePreparingUpdate {
			waiting[pod.UID] = true
		}
	}
	return waiting
}

// awaited returns the Pods that wait for their hook and whose update is still wanted. It is no longer wanted if the template
// returned to the Pod's revision, if the partition now holds the Pod back, or if the CloneSet is paused.
func (p *planner) awaited(candidates []*corev1.Pod) map[types.UID]bool {
	wanted := map[types.UID]bool{}
	for _, pod := range candidates {
		wanted[pod.UID] = lifecycle.Of(pod) == pub.LifecycleStatePreparingUpdate
	}
	if p.preparingUpdateAsUpdate && !p.Stopped {
		p.keepPreparing(wanted)
	}
	return wanted
}

// keepPreparing adds the Pods that count as updated because they wait for their hook, as many as the partition leaves. Scaling counts
// them in this way and creates Pods at the current revision, so there can be no candidate while such a Pod is created.
func (p *planner) keepPreparing(wanted map[types.UID]bool) {
	room := p.Replicas - p.diff.Partition
	var preparing []*corev1.Pod
	for _, pod := range p.Pods {
		switch {
		case p.Updated(pod), wanted[pod.UID]:
			room--
		case lifecycle.Of(pod) == pub.LifecycleStatePreparingUpdate && !p.Specified(pod):
			preparing = append(preparing, pod)
		}
	}
	for _, pod := range preparing[:max(0, min(room, len(preparing)))] {
		wanted[pod.UID] = true
	}
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
