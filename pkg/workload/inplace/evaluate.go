package inplace

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// settleMargin is added to the grace period of a Pod, within which a node must have stopped what it was told to stop.
	settleMargin = 10 * time.Second
	// defaultGracePeriod is that of a Pod which names none.
	defaultGracePeriod = 30 * time.Second
)

// Progress is how far an in-place update has come.
type Progress struct {
	Complete bool
	// Recheck is when the same Pod may evaluate otherwise though nothing about it changed; zero when it will not.
	Recheck time.Duration
}

// Evaluate tells whether the node has carried out the Pod's last in-place update. A Pod that was never updated is complete.
func Evaluate(pod *corev1.Pod, now time.Time) (Progress, error) {
	grace, err := ReadGrace(pod)
	if err != nil {
		return Progress{}, err
	}
	state, err := ReadState(pod)
	if err != nil {
		return Progress{}, err
	}
	if state == nil {
		return Progress{Complete: true}, nil
	}
	if grace != nil || state.waits() {
		return Progress{}, nil
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		recorded, found := state.LastContainerStatuses[container.Name]
		if found && !containerComplete(pod, container, recorded, state, now) {
			return Progress{Recheck: max(0, settledIn(pod, state, now))}, nil
		}
	}
	return Progress{Complete: true}, nil
}

// waits tells whether a later batch of containers is still to change.
func (s *State) waits() bool {
	return len(s.NextContainerImages) > 0 || len(s.NextContainerMetadata) > 0 || len(s.NextContainerResources) > 0
}

// containerComplete decides by the instance that the node reports.
//
// Another instance than the recorded one that runs the spec's image is the new one. The recorded instance itself is right
// only when the update came back to what it was created from before the node saw anything else. Whatever the node reports
// counts once it has seen the spec as we wrote it, where it says what it saw.
//
// A runtime names one tag of an image that has several, and not always the one asked for. So an instance that has another
// ID and outlives, under a spec that the node has seen, the time in which the node must have replaced it, is the new one
// too: an update never hangs on a name.
func containerComplete(pod *corev1.Pod, container *corev1.Container, recorded ContainerStatus, state *State, now time.Time) bool {
	status := containerStatus(pod, container.Name)
	if status == nil || status.ContainerID == "" || !nodeSawSpec(pod) {
		return false
	}
	runsImage := sameImage(container.Image, status.Image, status.ImageID)
	settled := status.State.Running != nil && settledIn(pod, state, now) <= 0
	switch {
	case recorded.ContainerID == "" && recorded.Image == "":
		return runsImage || status.ImageID != recorded.ImageID
	case status.ContainerID == recorded.ContainerID:
		return status.State.Running != nil && (recorded.Image == container.Image || runsImage && settled)
	default:
		return runsImage || settled
	}
}

// nodeSawSpec is true as well where a node does not say which generation it reports on.
func nodeSawSpec(pod *corev1.Pod) bool {
	return pod.Status.ObservedGeneration == 0 || pod.Status.ObservedGeneration >= pod.Generation
}

// settledIn measures on our own clock alone: state was stamped by it.
func settledIn(pod *corev1.Pod, state *State, now time.Time) time.Duration {
	grace := defaultGracePeriod
	if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	changed := state.UpdateTimestamp
	if n := len(state.ContainerBatchesRecord); n > 0 {
		changed = state.ContainerBatchesRecord[n-1].Timestamp
	}
	return changed.Add(grace + settleMargin).Sub(now)
}
