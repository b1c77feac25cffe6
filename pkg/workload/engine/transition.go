package engine

import (
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/inplace/record"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/readiness"
)

// DeletePod moves the Pod one step towards its deletion. A preDelete hook holds the Pod first. The step goes into the stage;
// nothing is written yet.
func (v *View) DeletePod(stage *Stage, pod *corev1.Pod) {
	v.deletePod(stage, Deletion{Pod: pod})
}

// ReplacePod is DeletePod for a Pod whose replacement gets its claims. The claims stay with the workload.
func (v *View) ReplacePod(stage *Stage, pod *corev1.Pod) {
	v.deletePod(stage, Deletion{Pod: pod, KeepClaims: true})
}

// DeleteFinished deletes the Pods that ended and whose claims are kept for their replacements.
func (v *View) DeleteFinished(stage *Stage) {
	for _, pod := range v.finished() {
		v.deletePod(stage, Deletion{Pod: pod, KeepClaims: true})
	}
}

// deletePod adds the next step of a deletion to the stage. A Pod that its hook already holds gets no step: the hook ends when
// its labels or finalizers are removed.
func (v *View) deletePod(stage *Stage, deletion Deletion) {
	switch {
	case v.Lifecycle == nil || !lifecycle.Hooked(v.Lifecycle.PreDelete, deletion.Pod):
		stage.Delete = append(stage.Delete, deletion)
	case !PreparingDelete(deletion.Pod):
		stage.Changes = append(stage.Changes, v.Move(deletion.Pod, pub.LifecycleStatePreparingDelete))
	}
}

// Specified reports whether the user, or an update by recreation, picked the Pod for deletion.
func (v *View) Specified(pod *corev1.Pod) bool {
	return lifecycle.SpecifiedDelete(pod) || v.Picked != nil && v.Picked(pod)
}

// leavesOnPurpose reports whether the Pod's deletion was requested. Other Pods that end are lost, and their claims can be
// reused.
func (v *View) leavesOnPurpose(pod *corev1.Pod) bool {
	return PreparingDelete(pod) || v.Specified(pod)
}

// UpdatePod moves the Pod one step towards the revision: first through its hook, then in place or by recreation. It returns an
// error if the policy only allows in-place updates and the change is not possible in place.
func (v *View) UpdatePod(stage *Stage, pod *corev1.Pod, target *appsv1.ControllerRevision) error {
	// Every other policy recreates Pods.
	if v.Policy == pub.InPlaceIfPossiblePodUpdatePolicy || v.Policy == pub.InPlaceOnlyPodUpdatePolicy {
		change, err := v.inPlaceChange(pod, target)
		if err == nil && change != nil {
			change, err = change.Instead(pod)
		}
		// Settling replaces a Pod whose waiting change cannot be read.
		if errors.Is(err, inplace.ErrUnreadable) {
			return nil
		}
		if err != nil {
			return err
		}
		if change != nil {
			return v.updateInPlace(stage, PodUpdate{Pod: pod, Target: target, Change: change})
		}
		if v.Policy == pub.InPlaceOnlyPodUpdatePolicy {
			return fmt.Errorf("pod %s cannot be updated in place to revision %s: the revisions differ in fields that cannot change in place; set "+
				"podUpdatePolicy to InPlaceIfPossible, or delete the Pod", pod.Name, target.Name)
		}
	}
	if v.ReplaceAtOnce {
		v.deletePod(stage, Deletion{Pod: pod, KeepClaims: true})
		return nil
	}
	stage.Updates = append(stage.Updates, PodUpdate{Pod: pod, Target: target})
	return nil
}

// inPlaceChange returns the in-place change of the Pod, or nil if the Pod must be recreated. Without the revision that the Pod
// is at, nothing can be compared. An error says that a stored template cannot be read. All Pods of a revision share the change, which
// must not be modified.
func (v *View) inPlaceChange(pod *corev1.Pod, target *appsv1.ControllerRevision) (*inplace.Change, error) {
	from := v.RevisionOf(pod)
	if from == nil {
		return nil, nil
	}
	pair := [2]string{from.Name, target.Name}
	change, planned := v.changes[pair]
	if !planned {
		var err error
		if change, err = v.planChange(from, target); err != nil {
			return nil, err
		}
		v.changes[pair] = change
	}
	switch {
	case change == nil || !change.Restarts() || inplace.Restartable(pod):
		return change, nil
	case v.Policy == pub.InPlaceOnlyPodUpdatePolicy:
		return nil, fmt.Errorf("pod %s cannot restart in place: no node agent has reported its containers; run the node agent on node %s, set "+
			"podUpdatePolicy to InPlaceIfPossible, or delete the Pod", pod.Name, pod.Spec.NodeName)
	}
	return nil, nil
}

// TakesOutOfService reports whether the update of a Pod to the target takes it out of service: it is recreated, or a container restarts.
func (v *View) TakesOutOfService(pod *corev1.Pod, target *appsv1.ControllerRevision) bool {
	if v.Policy != pub.InPlaceIfPossiblePodUpdatePolicy && v.Policy != pub.InPlaceOnlyPodUpdatePolicy {
		return true
	}
	change, err := v.inPlaceChange(pod, target)
	// The update itself reports the error.
	return err != nil || change == nil || change.Interrupts(pod)
}

func (v *View) planChange(from, target *appsv1.ControllerRevision) (*inplace.Change, error) {
	if v.Compatible != nil && !v.Compatible(from, target) {
		return nil, nil
	}
	before, err := v.Template(from)
	if err != nil {
		return nil, err
	}
	after, err := v.Template(target)
	if err != nil {
		return nil, err
	}
	change, possible := inplace.Plan(before, after, v.InPlace)
	if !possible {
		return nil, nil
	}
	return change, nil
}

// updateInPlace moves the Pod one step from its lifecycle state through the hook to the update.
func (v *View) updateInPlace(stage *Stage, update PodUpdate) error {
	hook, pod := v.InPlaceHook(), update.Pod
	held := lifecycle.Hooked(hook, pod)
	// A Pod that is being updated gets the new target at once.
	switch state := lifecycle.Of(pod); state {
	case pub.LifecycleStateUpdated:
		change := v.prepareUpdate(pod)
		lifecycle.Mark(hook, change.After)
		stage.Changes = append(stage.Changes, change)
	case pub.LifecycleStatePreparingUpdate:
		if !held {
			stage.Updates = append(stage.Updates, update)
		}
	case "", pub.LifecycleStateNormal, pub.LifecycleStatePreparingNormal:
		if held {
			stage.Changes = append(stage.Changes, v.prepareUpdate(pod))
			return nil
		}
		stage.Updates = append(stage.Updates, update)
	case pub.LifecycleStateUpdating:
		stage.Updates = append(stage.Updates, update)
	default:
		return fmt.Errorf("pod %s has the unknown lifecycle state %q: remove its label %s", pod.Name, state, pub.LifecycleStateKey)
	}
	return nil
}

// prepareUpdate lets the hook hold the Pod before its update. The hook, or the user's program behind it, takes the Pod out of service, so
// the budget is asked now. The update after the hook asks again, because the hook may have left the Pod in service.
func (v *View) prepareUpdate(pod *corev1.Pod) Change {
	change := v.Move(pod, pub.LifecycleStatePreparingUpdate)
	change.Disrupts = true
	return change
}

// delays reports whether the update waits in the Pod for a grace period. An update that restarts nothing does not.
func (v *View) delays(update *PodUpdate) bool {
	return v.GraceSeconds > 0 && update.Change.Interrupts(update.Pod)
}

// applied returns the Pod with the update in it. The given Pod must be the version that the write replaces, because the record
// names the instances in its status. With a grace period, the Pod gets the update as a record, and Resume applies it later. The period
// begins at now, which is the time of the write: a pass can be seconds old by then.
func (v *View) applied(pod *corev1.Pod, update *PodUpdate, now time.Time) (*corev1.Pod, error) {
	after := pod.DeepCopy()
	// What an earlier update has finished is not taken into the record of this one, whatever others have changed in the Pod since.
	if !inplace.Delayed(pod) && v.complete(pod) {
		record.Drop(after)
	}
	var err error
	if v.GraceSeconds > 0 && update.Change.Interrupts(pod) {
		err = update.Change.Delay(after, v.recorded(update.Target.Name), v.GraceSeconds, now)
	} else {
		err = update.Change.Apply(after, v.recorded(update.Target.Name), now)
	}
	if err != nil {
		return nil, err
	}
	// The labels name the new revision in both cases: an update that waits counts as updated, so it is not planned again.
	v.Stamp(after, update.Target.Name)
	state := pub.LifecycleStateUpdating
	progress, err := inplace.Evaluate(after, nil)
	// If the Pod was drained before its update, settling puts it back into service with a write to its status.
	if err == nil && progress.Complete && !update.Change.TouchesContainers() && !readiness.Has(after, readiness.PreUpdate) {
		state = lifecycle.AfterUpdate(v.Lifecycle, after)
	}
	v.enter(after, state)
	return after, nil
}

// recorded returns the name that the record of an update has for a revision.
func (v *View) recorded(revision string) string {
	if v.Revisions.Recorded == nil {
		return revision
	}
	return v.Revisions.Recorded(revision)
}

// enter writes the state of an update into a Pod, unless the kind leaves Pods without a state as they are.
func (v *View) enter(pod *corev1.Pod, state lifecycle.State) {
	if lifecycle.Of(pod) != "" || !v.StateOptional {
		lifecycle.Set(pod, state, v.Now)
	}
}

// completeUpdate returns the Pod with the complete update in it, as if there were no grace period. A dry run of this tells
// whether the API server will accept the update.
func (v *View) completeUpdate(update *PodUpdate) (*corev1.Pod, error) {
	after := update.Pod.DeepCopy()
	if err := update.Change.Apply(after, v.recorded(update.Target.Name), v.Now); err != nil {
		return nil, err
	}
	v.Stamp(after, update.Target.Name)
	v.enter(after, pub.LifecycleStateUpdating)
	return after, nil
}

// Blueprint returns what all new Pods of a revision have in common. The kind adds its own parts.
func (v *View) Blueprint(revision *appsv1.ControllerRevision) (*podcontrol.Blueprint, error) {
	template, err := v.Template(revision)
	if err != nil {
		return nil, fmt.Errorf("create Pods: %w", err)
	}
	return &podcontrol.Blueprint{
		Owner: v.OwnerRef(), Name: v.Identity.Name, Namespace: v.Object.GetNamespace(), Template: template, Revision: revision.Name,
		Stamp: v.Stamp, InstanceLabel: v.Identity.Label, ClaimOwners: []metav1.OwnerReference{v.OwnerRef()},
	}, nil
}
