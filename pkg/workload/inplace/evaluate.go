package inplace

import (
	"fmt"
	"strings"
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

// Watched tells for how long the caller has seen the same sighting without a break, and by a clock of its own. It may be nil
// where nobody watches.
type Watched func(sighting string) time.Duration

// Evaluate tells whether the node has carried out the Pod's last in-place update. A Pod that was never updated is complete.
func Evaluate(pod *corev1.Pod, watched Watched) (Progress, error) {
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
	var unsure []string
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		recorded, found := state.LastContainerStatuses[container.Name]
		if !found {
			continue
		}
		switch judge(pod, container, recorded) {
		case done:
		case unnamed:
			unsure = append(unsure, container.Name+"="+containerStatus(pod, container.Name).ContainerID)
		case pending:
			return Progress{}, nil
		}
	}
	if len(unsure) == 0 {
		return Progress{Complete: true}, nil
	}
	return settle(pod, fmt.Sprintf("%d %s %s", pod.Generation, state.Revision, strings.Join(unsure, " ")), watched), nil
}

// settle decides on instances that are not the recorded ones and do not say that they run the spec's image. A runtime names
// one tag of an image that has several, and not always the one asked for; but such an instance may also be one that crashed
// and came back before the node knew better. The node puts an end to that one within its grace period. So what we have
// watched run for longer, since the node first reported on this spec, is the new one: an update never hangs on a name.
func settle(pod *corev1.Pod, sighting string, watched Watched) Progress {
	if watched == nil {
		return Progress{}
	}
	patience := defaultGracePeriod + settleMargin
	if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		patience = time.Duration(*seconds)*time.Second + settleMargin
	}
	remaining := patience - watched(sighting)
	return Progress{Complete: remaining <= 0, Recheck: max(0, remaining)}
}

// waits tells whether a later batch of containers is still to change.
func (s *State) waits() bool {
	return len(s.NextContainerImages) > 0 || len(s.NextContainerMetadata) > 0 || len(s.NextContainerResources) > 0
}

// verdict is what the node's report says of one container.
type verdict int

const (
	pending verdict = iota
	// unnamed is an instance that must be the new one unless the node is about to replace it.
	unnamed
	done
)

// judge decides by the instance that the node reports.
//
// Another instance than the recorded one that runs the spec's image is the new one. The recorded instance itself is right
// only when the update came back to what it was created from before the node saw anything else. Whatever the node reports
// counts once it has seen the spec as we wrote it, where it says what it saw.
func judge(pod *corev1.Pod, container *corev1.Container, recorded ContainerStatus) verdict {
	status := containerStatus(pod, container.Name)
	if status == nil || status.ContainerID == "" || !nodeSawSpec(pod) {
		return pending
	}
	runs := status.State.Running != nil
	runsImage := sameImage(container.Image, status.Image, status.ImageID)
	switch {
	case recorded.ContainerID == "" && recorded.Image == "":
		return doneIf(runsImage || status.ImageID != recorded.ImageID)
	case status.ContainerID != recorded.ContainerID && runsImage:
		return done
	case !runs:
		return pending
	case status.ContainerID != recorded.ContainerID, recorded.Image == "":
		return unnamed
	case recorded.Image == container.Image:
		return done
	case runsImage:
		return unnamed
	default:
		return pending
	}
}

func doneIf(condition bool) verdict {
	if condition {
		return done
	}
	return pending
}

// nodeSawSpec is true as well where a node does not say which generation it reports on.
func nodeSawSpec(pod *corev1.Pod) bool {
	return pod.Status.ObservedGeneration == 0 || pod.Status.ObservedGeneration >= pod.Generation
}
