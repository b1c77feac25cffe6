package containerrecreaterequest

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/delay"
)

const (
	// responseTimeout is how long an agent may take to pick a request up. An agent that works answers within seconds.
	responseTimeout = 60 * time.Second
	// stopMargin is how long the stop of a container may take beyond its grace period. defaultGrace is the grace period of a request
	// that names none, in seconds. Both are the agent's.
	stopMargin   = 2 * time.Minute
	defaultGrace = 30
	// absenceTimeout is how long a node may be without a working agent. Then its requests end, so nobody waits for them and their
	// Pods return to service. It is as long as Pods stay by default on a node that is not ready, and a node reboots in less.
	absenceTimeout = 5 * time.Minute
)

// Messages of requests that the controller ended. Programs search for these texts, so they must stay.
const (
	podGone          = "pod has gone"
	noResponse       = "daemon has not responded for a long time"
	deadlineExceeded = "recreating has exceeded the activeDeadlineSeconds"
)

// over returns why the request must end, or "". The response timeout does not apply to a request that waits for its turn, because its
// agent has already seen it. If no agent works on the node, absent is since when. It is called again on the fresh request before the
// end is written, so an answer that came meanwhile counts.
func over(request *v1beta1.ContainerRecreateRequest, pod *corev1.Pod, absent *time.Time, now time.Time) string {
	switch {
	// The Pod's containers will not be restarted any more.
	case pod == nil || pod.DeletionTimestamp != nil:
		return podGone
	case remaining(responseLimit(request), now) < 0, remaining(absenceLimit(absent), now) < 0:
		return noResponse
	case remaining(deadline(request), now) < 0:
		return deadlineExceeded
	}
	return endedFor(request, pod)
}

// nextLimit returns the time until the request's next limit, or zero. No event comes at a limit, so the request is reconciled then.
func nextLimit(request *v1beta1.ContainerRecreateRequest, absent *time.Time, now time.Time) (soonest time.Duration) {
	for _, limit := range []*time.Time{responseLimit(request), absenceLimit(absent), deadline(request)} {
		if left := remaining(limit, now); left > 0 && (soonest == 0 || left < soonest) {
			soonest = left
		}
	}
	return soonest
}

// absenceLimit returns until when an agent must work on the node again, or nil if one does.
func absenceLimit(absent *time.Time) *time.Time {
	if absent == nil {
		return nil
	}
	return new(absent.Add(absenceTimeout))
}

// remaining returns the time until the limit. It is negative from the limit on, and zero if there is no limit.
func remaining(limit *time.Time, now time.Time) time.Duration {
	if limit == nil {
		return 0
	}
	if left := limit.Sub(now); left > 0 {
		return left
	}
	return -1
}

// responseLimit returns until when the agent must have done its next step, or nil if the time of that step is unknown. A Pod that
// is out of service must not wait for an agent that does not exist any more.
func responseLimit(request *v1beta1.ContainerRecreateRequest) *time.Time {
	if request.Status.Phase == "" {
		return new(request.CreationTimestamp.Add(responseTimeout))
	}
	// Without a drain, or once the agent has done something, the deadline and the absence of the agent are the only limits.
	since := drainedSince(request)
	if since == nil || slices.ContainsFunc(request.Status.ContainerRecreateStates, answered) {
		return nil
	}
	strategy := request.Spec.Strategy
	// The agent needs the drain, the stop of a container, and the time that any answer may take.
	toStop := delay.Seconds(ptr.Deref(strategy.TerminationGracePeriodSeconds, defaultGrace)) + stopMargin
	return new(since.Add(delay.Seconds(*strategy.UnreadyGracePeriodSeconds)).Add(toStop).Add(responseTimeout))
}

// answered reports whether the agent has stopped a container, has tried to, or says why it does not. From then on, the agent is known to
// work on the request.
func answered(state v1beta1.ContainerRecreateRequestContainerRecreateState) bool {
	return state.IsKilled || final(state.Phase) || state.Message != ""
}

// final reports whether a container of a request needs nothing more.
func final(phase v1beta1.ContainerRecreateRequestPhase) bool {
	return phase == v1beta1.ContainerRecreateRequestSucceeded || phase == v1beta1.ContainerRecreateRequestFailed
}

// endedFor returns a message if the request cannot make progress, because the kubelet will not start its containers again, or "". One
// container that can still restart keeps the request going.
func endedFor(request *v1beta1.ContainerRecreateRequest, pod *corev1.Pod) string {
	phases := map[string]v1beta1.ContainerRecreateRequestPhase{}
	for _, state := range request.Status.ContainerRecreateStates {
		phases[state.Name] = state.Phase
	}
	var ended []string
	for i := range request.Spec.Containers {
		name := request.Spec.Containers[i].Name
		switch {
		// This container is finished, whatever the kubelet does with it.
		case final(phases[name]):
			continue
		case !endedForGood(pod, name):
			return ""
		}
		ended = append(ended, name)
		if strategy := request.Spec.Strategy; strategy != nil && strategy.OrderedRecreate {
			break // The containers after it wait for it.
		}
	}
	// All containers are final, so the agent completes the request.
	if len(ended) == 0 {
		return ""
	}
	return fmt.Sprintf("containers %v have ended and will not be started again", ended)
}

// endedForGood reports whether a container has ended and the kubelet will not start it again. It returns false when that is not
// known.
func endedForGood(pod *corev1.Pod, name string) bool {
	status := statusOf(pod, name)
	if status == nil || status.State.Terminated == nil {
		return false
	}
	// The kubelet starts nothing in a Pod with a final phase.
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	// A container with the policy OnFailure starts again after a failure, and the request goes on then.
	policy := pod.Spec.RestartPolicy
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if container.Name == name && (container.RestartPolicy != nil || len(container.RestartPolicyRules) > 0) {
			return false // Its own rules may start it again.
		}
	}
	return policy == corev1.RestartPolicyNever ||
		policy == corev1.RestartPolicyOnFailure && status.State.Terminated.ExitCode == 0
}

// deadline returns when activeDeadlineSeconds end, or nil if the request has no deadline. They count from the creation, so waiting
// for other requests counts too.
func deadline(request *v1beta1.ContainerRecreateRequest) *time.Time {
	number := request.Spec.ActiveDeadlineSeconds
	if number == nil {
		return nil
	}
	return new(request.CreationTimestamp.Add(delay.Seconds(*number)))
}
