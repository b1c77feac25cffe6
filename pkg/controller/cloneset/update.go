package cloneset

import (
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/ordering"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/readiness"
	"kruise.io/kruise/pkg/workload/rollout"
)

// updating is what one pass does to bring Pods to their revision.
type updating struct {
	target *appsv1.ControllerRevision
	// inPlace are the Pods to update in place, with what changes in each.
	inPlace []inPlaceUpdate
	// recreate are the Pods to pick for deletion.
	recreate []*corev1.Pod
	// changes hold Pods before their update.
	changes []change
}

type inPlaceUpdate struct {
	pod    *corev1.Pod
	change *inplace.Change
}

// updates decides which Pods to update now, and how. What it could not decide for a Pod is in the error; the others go on.
func (v *view) updates() (updating, error) {
	var plan updating
	if v.onDelete() || v.rolling().Paused {
		return plan, nil
	}
	ordered, target, diff, err := v.candidates()
	if err != nil || len(ordered) == 0 {
		return plan, err
	}
	plan.target = target
	var failures []error
	for _, i := range v.updateBudget(diff, ordered, plan.target) {
		if err := v.updateOne(&plan, ordered[i]); err != nil {
			failures = append(failures, err)
		}
	}
	return plan, errors.Join(failures...)
}

// awaited are the Pods in PreparingUpdate whose update is still wanted: neither has the template come back to what they are,
// nor does the partition hold them now. A pause keeps them waiting.
func (v *view) awaited() map[types.UID]bool {
	waiting := map[types.UID]bool{}
	for _, pod := range v.pods {
		if lifecycle.Of(pod) == pub.LifecycleStatePreparingUpdate {
			waiting[pod.UID] = true
		}
	}
	if len(waiting) == 0 || v.onDelete() {
		return nil
	}
	ordered, _, _, err := v.candidates()
	if err != nil {
		// What cannot be decided is reported with the updates, and changes nothing here.
		return waiting
	}
	wanted := map[types.UID]bool{}
	for _, pod := range ordered {
		wanted[pod.UID] = waiting[pod.UID]
	}
	return wanted
}

// candidates are the Pods to bring to the target, in the order in which they are, and no more of them than are wanted there.
func (v *view) candidates() (ordered []*corev1.Pod, target *appsv1.ControllerRevision, diff rollout.Diff, err error) {
	diff, err = v.diff()
	if err != nil || diff.UpdateNum == 0 {
		return nil, nil, diff, err
	}
	target, wanted := v.update, diff.UpdateNum
	if wanted < 0 {
		target, wanted = v.current, -wanted
	}
	ordered, err = v.updateOrder(v.outdated(target))
	return ordered[:min(wanted, len(ordered))], target, diff, err
}

func at(pod *corev1.Pod, revision *appsv1.ControllerRevision) bool {
	return history.Matches(pod.Labels[pub.ControllerRevisionHashKey], revision.Name)
}

// outdated are the Pods that may be brought to the target. On the way back only those at the update revision may.
func (v *view) outdated(target *appsv1.ControllerRevision) (pods []*corev1.Pod) {
	back := target != v.update
	for _, pod := range v.pods {
		waits := inplace.Delayed(pod) && lifecycle.Of(pod) != pub.LifecycleStateUpdated && !v.overdue(pod)
		if at(pod, target) || preparingDelete(pod) || v.specified(pod) || waits || back && !v.updated(pod) {
			continue
		}
		pods = append(pods, pod)
	}
	return pods
}

// overdue tells whether the change that waited in the Pod for its grace period was due, and refused.
func (v *view) overdue(pod *corev1.Pod) bool {
	return slices.ContainsFunc(v.refused, func(c change) bool { return c.before.UID == pod.UID })
}

// updateOrder sorts candidates as the spec asks.
func (v *view) updateOrder(pods []*corev1.Pod) ([]*corev1.Pod, error) {
	rolling := v.rolling()
	ordered, err := ordering.ByStrategy(ordering.ForUpdate(pods), v.pods, rolling.PriorityStrategy, rolling.ScatterStrategy)
	if err != nil {
		return nil, err
	}
	return ordering.PreparingFirst(ordered), nil
}

// updateBudget returns the indexes of the candidates that may be updated now.
func (v *view) updateBudget(diff rollout.Diff, ordered []*corev1.Pod, target *appsv1.ControllerRevision) []int {
	var census rollout.Census
	for _, pod := range v.pods {
		available := v.available(pod)
		census.Unavailable += one(!available)
		census.UnavailableAtTarget += one(!available && at(pod, target))
		picked := v.specified(pod) && !preparingDelete(pod) && !at(pod, target)
		census.Picked += one(picked)
		census.PickedAvailable += one(picked && available)
	}
	candidates := make([]rollout.Candidate, 0, len(ordered))
	for _, pod := range ordered {
		candidates = append(candidates, rollout.Candidate{Available: v.available(pod)})
	}
	return diff.SelectUpdates(candidates, census)
}

func one(condition bool) int {
	if condition {
		return 1
	}
	return 0
}

// updateOne decides how a chosen Pod comes to the target.
func (v *view) updateOne(plan *updating, pod *corev1.Pod) error {
	policy := v.rolling().PodUpdatePolicy
	if policy == pub.InPlaceIfPossiblePodUpdatePolicy || policy == pub.InPlaceOnlyPodUpdatePolicy {
		change, err := v.inPlaceChange(pod, plan.target)
		if err != nil {
			return err
		}
		if change != nil {
			return v.updateInPlace(plan, pod, change)
		}
		if policy == pub.InPlaceOnlyPodUpdatePolicy {
			return fmt.Errorf("pod %s cannot be updated in place to revision %s: more differs than can be changed in place; "+
				"set podUpdatePolicy to InPlaceIfPossible, or delete the Pod", pod.Name, plan.target.Name)
		}
	}
	plan.recreate = append(plan.recreate, pod)
	return nil
}

// inPlaceChange returns what changes in the Pod, or nil when it must be recreated.
func (v *view) inPlaceChange(pod *corev1.Pod, target *appsv1.ControllerRevision) (*inplace.Change, error) {
	from := v.revisionOf(pod)
	ifPossible := v.rolling().PodUpdatePolicy == pub.InPlaceIfPossiblePodUpdatePolicy
	if from == nil || ifPossible && v.recreateForClaims && claimsDiffer(from, target) {
		return nil, nil
	}
	before, err := v.template(from)
	if err != nil {
		return nil, err
	}
	after, err := v.template(target)
	if err != nil {
		return nil, err
	}
	change, possible := inplace.Plan(before, after, v.inPlace)
	if !possible {
		return nil, nil
	}
	return change, nil
}

// updateInPlace moves the Pod one step on the way from its state through the hook to the update.
func (v *view) updateInPlace(plan *updating, pod *corev1.Pod, change *inplace.Change) error {
	var hook *pub.LifecycleHook
	if v.set.Spec.Lifecycle != nil {
		hook = v.set.Spec.Lifecycle.InPlaceUpdate
	}
	state := lifecycle.Of(pod)
	held := lifecycle.Hooked(hook, pod)
	switch state {
	case pub.LifecycleStateUpdated:
		c := v.move(pod, pub.LifecycleStatePreparingUpdate)
		lifecycle.Mark(hook, c.after)
		plan.changes = append(plan.changes, c)
	case pub.LifecycleStatePreparingUpdate:
		if !held {
			plan.inPlace = append(plan.inPlace, inPlaceUpdate{pod, change})
		}
	case "", pub.LifecycleStateNormal, pub.LifecycleStatePreparingNormal:
		if held {
			plan.changes = append(plan.changes, v.move(pod, pub.LifecycleStatePreparingUpdate))
			return nil
		}
		plan.inPlace = append(plan.inPlace, inPlaceUpdate{pod, change})
	case pub.LifecycleStateUpdating:
		plan.inPlace = append(plan.inPlace, inPlaceUpdate{pod, change})
	default:
		return fmt.Errorf("pod %s has the unknown lifecycle state %q: remove its label %s", pod.Name, state, pub.LifecycleStateKey)
	}
	return nil
}

// applied returns the Pod as the update writes it. The Pod given must be the version that the write replaces.
func (v *view) applied(pod *corev1.Pod, update inPlaceUpdate, target *appsv1.ControllerRevision) (*corev1.Pod, error) {
	after := pod.DeepCopy()
	var err error
	if seconds := v.graceSeconds(); seconds > 0 && update.change.Interrupts(pod) {
		err = update.change.Delay(after, target.Name, seconds, v.now)
	} else {
		err = update.change.Apply(after, target.Name, v.now)
	}
	if err != nil {
		return nil, err
	}
	podcontrol.StampRevision(after, target.Name, v.shortHash)
	state := pub.LifecycleStateUpdating
	progress, err := inplace.Evaluate(after, nil)
	// A Pod that was drained before its update is put back into service by the refresh, with a write to its status.
	if err == nil && progress.Complete && !update.change.TouchesContainers() && !readiness.Has(after, readiness.PreUpdate) {
		state = lifecycle.AfterUpdate(v.set.Spec.Lifecycle, after)
	}
	lifecycle.Set(after, state, v.now)
	return after, nil
}

// tried returns the Pod with all that the update will change in it, whether or not a grace period comes first.
func (v *view) tried(update inPlaceUpdate, target *appsv1.ControllerRevision) (*corev1.Pod, error) {
	after := update.pod.DeepCopy()
	if err := update.change.Apply(after, target.Name, v.now); err != nil {
		return nil, err
	}
	podcontrol.StampRevision(after, target.Name, v.shortHash)
	lifecycle.Set(after, pub.LifecycleStateUpdating, v.now)
	return after, nil
}

func (v *view) graceSeconds() int32 {
	if strategy := v.rolling().InPlaceUpdateStrategy; strategy != nil {
		return strategy.GracePeriodSeconds
	}
	return 0
}

// recreated returns the change that picks a Pod for deletion.
func recreated(pod *corev1.Pod) change {
	after := pod.DeepCopy()
	labelled := labels.Set{pub.SpecifiedDeleteKey: "true"}
	after.Labels = labels.Merge(after.Labels, labelled)
	return change{before: pod, after: after}
}
