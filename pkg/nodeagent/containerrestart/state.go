package containerrestart

import (
	"strings"
	"time"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

type (
	request        = v1beta1.ContainerRecreateRequest
	containerSpec  = v1beta1.ContainerRecreateRequestContainer
	containerState = v1beta1.ContainerRecreateRequestContainerRecreateState
)

// notFound is the message of a container that the runtime does not have.
const (
	notFound = "not found container on Node"
	// stopping is the prefix of the message that records the instance to be stopped.
	stopping = "stopping "
)

// statesOf returns the state of each container, in the order of the request. again is the time until a container may
// count as restarted, or zero if no container waits.
func statesOf(r *request, instances map[string]*instance, now time.Time) (states []containerState, again time.Duration) {
	stored := map[string]containerState{}
	for _, state := range r.Status.ContainerRecreateStates {
		stored[state.Name] = state
	}
	for i := range r.Spec.Containers {
		container := &r.Spec.Containers[i]
		before := stored[container.Name]
		before.Name = container.Name
		state, wait := stateOf(r, container, before, instances[container.Name], now)
		states = append(states, state)
		if wait > 0 && (again == 0 || wait < again) {
			again = wait
		}
	}
	return states, again
}

// stateOf derives the state of one container from its stored state and its newest instance. wait is the time until
// the container may count as restarted, or zero. Succeeded and Failed are final. The order of the cases matters: an
// announced instance still has to be stopped, and with forceRecreate no instance proves anything before one was
// stopped.
func stateOf(
	r *request, container *containerSpec, before containerState, in *instance, now time.Time,
) (_ containerState, wait time.Duration) {
	state := containerState{Name: before.Name, IsKilled: before.IsKilled}
	switch {
	case before.Phase == v1beta1.ContainerRecreateRequestSucceeded || before.Phase == v1beta1.ContainerRecreateRequestFailed:
		return before, 0
	case in == nil:
		state.Phase, state.Message = v1beta1.ContainerRecreateRequestPending, notFound
	case in.exited:
		state.Phase = v1beta1.ContainerRecreateRequestRecreating
	case isStopping(before, in):
		return before, 0
	case r.Spec.Strategy.ForceRecreate && !before.IsKilled:
		state.Phase = v1beta1.ContainerRecreateRequestPending
	// A new instance, or one that the kubelet restarted under the same ID: the container has been restarted, by
	// whomever.
	case in.id != container.StatusContext.ContainerID || in.restartCount > container.StatusContext.RestartCount:
		state.Phase = v1beta1.ContainerRecreateRequestRecreating
		if !ready(r, container.Name, in) {
			break
		}
		if wait = in.startedAt.Add(time.Duration(r.Spec.Strategy.MinStartedSeconds) * time.Second).Sub(now); wait < 0 {
			state.Phase, wait = v1beta1.ContainerRecreateRequestSucceeded, 0
		} else {
			wait += time.Millisecond // The container must have run for longer than the period.
		}
	default:
		state.Phase = v1beta1.ContainerRecreateRequestPending
	}
	return state, wait
}

// announce records the instance in the status before it is stopped. With forceRecreate, a restarted agent could not
// tell otherwise whether it still has to stop the current instance. IsKilled is set already, so after the stop any
// other instance counts as the restarted one.
func announce(state *containerState, in *instance) {
	state.Phase, state.IsKilled, state.Message = v1beta1.ContainerRecreateRequestRecreating, true, stopping+in.id
}

// isStopping returns true if the instance was announced and still has to be stopped.
func isStopping(state containerState, in *instance) bool {
	id, found := strings.CutPrefix(state.Message, stopping)
	return found && in != nil && id == in.id && !in.exited && state.Phase == v1beta1.ContainerRecreateRequestRecreating
}

// ready returns true if the Pod reports this instance as ready. The controller copies the snapshot from the Pod, so
// it can show an older instance.
func ready(r *request, name string, in *instance) bool {
	for _, status := range r.Status.ContainerStatusSnapshot {
		if status.Name == name {
			return status.Ready && status.ContainerID == in.id
		}
	}
	return false
}

// step is the next action for a request.
type step struct {
	// done is true if the request is completed.
	done bool
	// stop is the index of the container to stop, or -1.
	stop int
	// missing is true if the request waits for a container that the runtime does not have.
	missing bool
}

// next returns the action for the first container that needs one. It marks the restarting containers before it as
// killed, regardless of who stopped them. Without orderedRecreate, it goes on to the next container while earlier
// ones start; with it, each container must be ready first.
func next(r *request, states []containerState, instances map[string]*instance) step {
	pending := false
	for i := range states {
		state := &states[i]
		switch state.Phase {
		case v1beta1.ContainerRecreateRequestSucceeded:
		case v1beta1.ContainerRecreateRequestFailed:
			if r.Spec.Strategy.FailurePolicy != v1beta1.IgnoreContainerRecreateRequestFailurePolicy {
				return step{done: true, stop: -1}
			}
		case v1beta1.ContainerRecreateRequestRecreating:
			if isStopping(*state, instances[state.Name]) {
				return step{stop: i}
			}
			state.IsKilled = true
			pending = true
			if r.Spec.Strategy.OrderedRecreate {
				return step{stop: -1}
			}
		// The container is pending: it has to be stopped, or the runtime does not have it.
		default:
			if instances[state.Name] == nil {
				return step{stop: -1, missing: true}
			}
			return step{stop: i}
		}
	}
	return step{stop: -1, done: !pending}
}
