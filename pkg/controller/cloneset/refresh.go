package cloneset

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/readiness"
)

// change is a write to one Pod, decided and not yet made.
type change struct {
	before, after *corev1.Pod
	// status writes to the status subresource, which takes labels and annotations along.
	status bool
	// exact refuses the write when the Pod changed meanwhile.
	exact bool
	// resize writes to the subresource of amounts of processor and memory.
	resize bool
	// trial only asks whether the server would take the write.
	trial bool
}

// sighting is what we have seen of a Pod since a time, without a break.
type sighting struct {
	what  string
	since time.Time
}

// refresh decides what is due for each Pod whatever else happens: its lifecycle moves on, and a finished in-place update puts
// it back into service. Both together are one write. It also returns when to look again though nothing changes.
func (v *view) refresh() (changes []change, recheck time.Duration, err error) {
	var failures []error
	awaited := v.awaited()
	before := v.sightings
	v.sightings = map[types.UID]sighting{}
	for _, pod := range v.pods {
		if inplace.Delayed(pod) {
			c, remaining, err := v.resume(pod)
			if failures = append(failures, err); err == nil && remaining == 0 {
				changes = append(changes, c)
			}
			recheck = sooner(recheck, remaining)
			continue
		}
		var progress inplace.Progress
		if (!inplace.Released(pod) || lifecycle.Of(pod) == pub.LifecycleStateUpdating) && !lifecycle.SpecifiedDelete(pod) {
			// For the others, what their update came to was decided before.
			var err error
			if progress, err = inplace.Evaluate(pod, v.watch(pod, before)); err != nil {
				failures = append(failures, err)
				continue
			}
		}
		recheck = sooner(recheck, progress.Recheck)
		if progress.Next || progress.Hopeless != "" {
			c, err := v.goOn(pod, progress)
			if failures = append(failures, err); err == nil {
				changes = append(changes, c)
			}
			continue
		}
		if c, due := v.refreshOne(pod, progress.Complete, awaited); due {
			changes = append(changes, c)
		}
	}
	return changes, recheck, errors.Join(failures...)
}

// watch goes on with what was seen of the Pod before, or begins anew.
func (v *view) watch(pod *corev1.Pod, before map[types.UID]sighting) inplace.Watched {
	return func(what string) time.Duration {
		seen, known := before[pod.UID]
		if !known || seen.what != what {
			seen = sighting{what: what, since: v.now}
		}
		v.sightings[pod.UID] = seen
		return v.now.Sub(seen.since)
	}
}

// resume makes the change that waited in a Pod for its grace period, when that is over.
func (v *view) resume(pod *corev1.Pod) (change, time.Duration, error) {
	after := pod.DeepCopy()
	remaining, err := inplace.Resume(after, func(revision string) bool {
		return history.Matches(pod.Labels[pub.ControllerRevisionHashKey], revision)
	}, v.now)
	return inSteps(pod, after), remaining, err
}

// inSteps writes other amounts first, where there are any: the next pass makes the rest of the change.
func inSteps(before, after *corev1.Pod) change {
	if resized, _ := inplace.Split(before, after); resized != nil {
		return change{before: before, after: resized, resize: true}
	}
	return change{before: before, after: after, exact: true}
}

// goOn changes the containers whose turn is next. A Pod that its node will never update is replaced, unless the user ruled
// that out.
func (v *view) goOn(pod *corev1.Pod, progress inplace.Progress) (change, error) {
	if progress.Next {
		after := pod.DeepCopy()
		err := inplace.Advance(after, v.now)
		return inSteps(pod, after), err
	}
	if v.rolling().PodUpdatePolicy == pub.InPlaceOnlyPodUpdatePolicy {
		return change{}, fmt.Errorf("pod %s cannot be updated in place: %s; set podUpdatePolicy to InPlaceIfPossible, or delete the Pod",
			pod.Name, progress.Hopeless)
	}
	return recreated(pod), nil
}

func (v *view) refreshOne(pod *corev1.Pod, complete bool, awaited map[types.UID]bool) (change, bool) {
	scheduled := podstate.Scheduled(pod)
	state := lifecycle.Next(v.set.Spec.Lifecycle, pod, lifecycle.Progress{
		Scheduled: scheduled, AtTarget: !awaited[pod.UID], Complete: complete,
	})
	label, hash := pod.Labels[pub.ControllerRevisionHashKey], pod.Labels[pub.PodTemplateHashKey]
	statuses := v.statusWrites(pod, state, scheduled, complete)
	moves, fills := state != lifecycle.Of(pod), hash == "" && label != ""
	if !moves && !fills && len(statuses) == 0 {
		return change{}, false
	}
	after := pod.DeepCopy()
	if moves {
		lifecycle.Set(after, state, v.now)
	}
	if fills {
		after.Labels[pub.PodTemplateHashKey] = history.ShortHash(label)
	}
	for _, write := range statuses {
		write(after)
	}
	status := len(statuses) > 0
	return change{before: pod, after: after, status: status, exact: status}, true
}

// statusWrites are what is due in the Pod's conditions. A new Pod cannot be ready before it has a node, so its conditions wait
// for the write that its state needs then.
func (v *view) statusWrites(pod *corev1.Pod, state pub.LifecycleStateType, scheduled, complete bool) (writes []func(*corev1.Pod)) {
	if scheduled && readiness.Unset(pod) {
		writes = append(writes, func(after *corev1.Pod) { readiness.Begin(after, v.now) })
	}
	if readiness.DrainDue(v.set.Spec.Lifecycle, pod, state) {
		writes = append(writes, func(after *corev1.Pod) { readiness.Drain(v.set.Spec.Lifecycle, after, v.now) })
	}
	if complete && scheduled && !inplace.Released(pod) {
		writes = append(writes, func(after *corev1.Pod) { inplace.Release(after, v.now) })
	}
	return writes
}

// sooner returns the shorter of two delays, of which zero is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
