package containerrecreaterequest

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// responseTimeout is how long an agent may take to pick a request up.
const responseTimeout = 60 * time.Second

// Messages of requests that the controller ended. Programs search for these texts, so they must stay.
const (
	podGone          = "pod has gone"
	noResponse       = "daemon has not responded for a long time"
	deadlineExceeded = "recreating has exceeded the activeDeadlineSeconds"
)

// over returns why the request must end, or "". The response timeout does not apply to a request that waits for its turn,
// because its agent has already seen it.
func over(request *v1beta1.ContainerRecreateRequest, pod *corev1.Pod, now time.Time) string {
	switch {
	case pod == nil || pod.DeletionTimestamp != nil:
		return podGone
	case remaining(responseLimit(request), now) < 0:
		return noResponse
	case remaining(deadline(request), now) < 0:
		return deadlineExceeded
	}
	return ""
}

// nextLimit returns the time until the request's next limit, or zero.
func nextLimit(request *v1beta1.ContainerRecreateRequest, now time.Time) time.Duration {
	soonest := remaining(responseLimit(request), now)
	if limit := remaining(deadline(request), now); limit > 0 && (soonest == 0 || limit < soonest) {
		soonest = limit
	}
	return soonest
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

func responseLimit(request *v1beta1.ContainerRecreateRequest) *time.Time {
	if request.Status.Phase != "" {
		return nil
	}
	return new(request.CreationTimestamp.Add(responseTimeout))
}

func deadline(request *v1beta1.ContainerRecreateRequest) *time.Time {
	seconds := request.Spec.ActiveDeadlineSeconds
	if seconds == nil {
		return nil
	}
	return new(request.CreationTimestamp.Add(time.Duration(*seconds) * time.Second))
}

// failUnfinished returns a final state for every container, so that an ended request shows no container in progress.
func failUnfinished(request *v1beta1.ContainerRecreateRequest) []v1beta1.ContainerRecreateRequestContainerRecreateState {
	stored := map[string]v1beta1.ContainerRecreateRequestContainerRecreateState{}
	for _, state := range request.Status.ContainerRecreateStates {
		stored[state.Name] = state
	}
	states := make([]v1beta1.ContainerRecreateRequestContainerRecreateState, 0, len(request.Spec.Containers))
	for i := range request.Spec.Containers {
		state := stored[request.Spec.Containers[i].Name]
		if state.Phase != v1beta1.ContainerRecreateRequestSucceeded && state.Phase != v1beta1.ContainerRecreateRequestFailed {
			state.Name = request.Spec.Containers[i].Name
			state.Phase, state.Message = v1beta1.ContainerRecreateRequestFailed, deadlineExceeded
		}
		states = append(states, state)
	}
	return states
}
