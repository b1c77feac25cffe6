package engine

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/readiness"
)

// settlement holds the changes that are due whatever else the pass does. err joins what could not be decided; the changes are
// written all the same.
type settlement struct {
	changes []Change
	// recheck is the delay until the next pass is due even if nothing changes.
	recheck time.Duration
	err     error
}

// settle decides what is due for each Pod: advance its lifecycle, release a finished in-place update, end a grace period, or
// start the next batch of containers. It takes no Pod out of service.
func (v *View) settle(plan *Plan) (s settlement) {
	failures := []error{v.unreadable}
	updated := plan.updated()
	for _, pod := range v.Pods {
		progress := v.progress[pod.UID]
		s.recheck = delay.Sooner(s.recheck, progress.Recheck)
		var change *Change
		var err error
		switch {
		// Another change takes the place of the one that waits. After a refusal, the one that waits is still made when its time comes:
		// otherwise the Pod would stay out of service.
		case inplace.Delayed(pod) && updated[pod.UID] && !v.UpdateFailed:
		// An update that waits for its grace period is not evaluated: nothing of it has begun.
		case inplace.Delayed(pod):
			var remaining time.Duration
			change, remaining, err = v.resume(pod)
			s.recheck = delay.Sooner(s.recheck, remaining)
		case progress.Next:
			change, err = v.advance(pod)
		case progress.Hopeless != "":
			change, err = v.giveUp(pod, progress.Hopeless)
		default:
			change = v.moveOn(pod, progress.Complete, plan.Awaited[pod.UID])
		}
		if failures = append(failures, err); err == nil && change != nil {
			s.changes = append(s.changes, *change)
		}
	}
	s.err = errors.Join(failures...)
	return s
}

// resume returns the change that waited in a Pod for its grace period, if that period is over. Otherwise it returns the
// remaining time.
func (v *View) resume(pod *corev1.Pod) (*Change, time.Duration, error) {
	after := pod.DeepCopy()
	remaining, err := inplace.Resume(after, func(revision string) bool {
		return v.labelNames(pod.Labels[pub.ControllerRevisionHashKey], revision)
	}, v.Now)
	switch {
	case errors.Is(err, inplace.ErrUnreadable):
		change, err := v.giveUp(pod, err.Error())
		return change, 0, err
	case err != nil || remaining > 0:
		return nil, remaining, err
	}
	return inSteps(pod, after), 0, nil
}

// advance changes the next batch of containers. The Pod is out of service already, so no budget is asked.
func (v *View) advance(pod *corev1.Pod) (*Change, error) {
	after := pod.DeepCopy()
	if err := inplace.Advance(after, v.Now); err != nil {
		return nil, err
	}
	return inSteps(pod, after), nil
}

// inSteps returns the change of resources first, if there is one, because resources have their own subresource. The next pass
// writes the rest. The rest is exact, because it records the instances that it ends.
func inSteps(before, after *corev1.Pod) *Change {
	if resized, _ := inplace.Split(before, after); resized != nil {
		return &Change{Before: before, After: resized, Part: Resize}
	}
	return &Change{Before: before, After: after, Exact: true}
}

// giveUp replaces a Pod whose update in place will never complete, for the given reason. It returns an error if the user only allows
// in-place updates, and nil if the Pod is to be replaced already, or if the user has stopped updates.
func (v *View) giveUp(pod *corev1.Pod, reason string) (*Change, error) {
	if GivenUp(pod) || v.Stopped {
		return nil, nil
	}
	if v.Policy == pub.InPlaceOnlyPodUpdatePolicy {
		return nil, fmt.Errorf("pod %s cannot be updated in place: %s; set podUpdatePolicy to InPlaceIfPossible, or delete the Pod",
			pod.Name, reason)
	}
	return markForDeletion(pod, givenUp), nil
}

// The values of the label by which the engine picks Pods for deletion. Only its presence matters to users. givenUp tells the engine's own
// mark from that of a user, for kinds in which the label of a user has no effect.
const (
	picked  = "true"
	givenUp = "in-place-update-failed"
)

// GivenUp reports whether the engine marked the Pod because its node never completes an update in place.
func GivenUp(pod *corev1.Pod) bool { return pod.Labels[pub.SpecifiedDeleteKey] == givenUp }

// markForDeletion labels a Pod so that a later pass deletes and replaces it.
func markForDeletion(pod *corev1.Pod, value string) *Change {
	after := pod.DeepCopy()
	if after.Labels == nil {
		after.Labels = map[string]string{}
	}
	after.Labels[pub.SpecifiedDeleteKey] = value
	return &Change{Before: pod, After: after}
}

// moveOn changes the Pod's lifecycle state and conditions in one write, or returns nil. complete is true if no in-place update
// is in progress. awaited is true if an update of a Pod in state PreparingUpdate is still wanted.
func (v *View) moveOn(pod *corev1.Pod, complete, awaited bool) *Change {
	scheduled := podstate.Scheduled(pod)
	state := lifecycle.Next(v.Lifecycle, pod, lifecycle.Progress{Scheduled: scheduled, AtTarget: !awaited, Complete: complete})
	label := pod.Labels[pub.ControllerRevisionHashKey]
	conditions := v.conditionWrites(pod, state, scheduled, complete)
	// A Pod of an early release may lack the label with the hash.
	moves, fills := state != lifecycle.Of(pod), v.HashLabel != "" && pod.Labels[v.HashLabel] == "" && label != ""
	if !moves && !fills && len(conditions) == 0 {
		return nil
	}
	after := pod.DeepCopy()
	if moves {
		lifecycle.Set(after, state, v.Now)
	}
	if fills {
		after.Labels[v.HashLabel] = history.ShortHash(label)
	}
	for _, write := range conditions {
		write(after)
	}
	// A write to the status can also change metadata. It is exact, because another party may have added a key to a condition
	// meanwhile.
	if len(conditions) > 0 {
		return &Change{Before: pod, After: after, Part: Status, Exact: true}
	}
	return &Change{Before: pod, After: after}
}

// conditionWrites returns the changes that are due in the Pod's conditions. A Pod without a node cannot be ready, so its first
// conditions wait until it is scheduled. They are then part of the write of its lifecycle state.
func (v *View) conditionWrites(pod *corev1.Pod, state lifecycle.State, scheduled, complete bool) (writes []func(*corev1.Pod)) {
	if scheduled && readiness.Unset(pod) {
		writes = append(writes, func(after *corev1.Pod) { readiness.Begin(after, v.Now) })
	}
	if readiness.DrainDue(v.Lifecycle, pod, state) {
		writes = append(writes, func(after *corev1.Pod) { readiness.Drain(v.Lifecycle, after, v.Now) })
	}
	if complete && scheduled && !inplace.Released(pod) {
		writes = append(writes, func(after *corev1.Pod) { inplace.Release(after, v.Now) })
	}
	return writes
}

// Move brings a Pod into a lifecycle state. If a hook drains the Pod, the same write does so, and it goes to the status. With
// two writes, a crash in between would leave a Pod in service although its hook runs.
func (v *View) Move(pod *corev1.Pod, state lifecycle.State) Change {
	after := pod.DeepCopy()
	lifecycle.Set(after, state, v.Now)
	if readiness.Drain(v.Lifecycle, after, v.Now) {
		return Change{Before: pod, After: after, Part: Status, Exact: true}
	}
	return Change{Before: pod, After: after}
}
