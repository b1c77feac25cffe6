package podprober

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/nodeagent/handler"
)

// result is what the runs of a probe showed. The mutex of the schedule protects it.
type result struct {
	// instance is the container ID of the last run.
	instance string
	// last is the outcome of the last run that had one, and streak is how many runs in a row had it.
	last   handler.Outcome
	streak int32

	// The fields below are what is published. state is empty until there is a result.
	state           v1alpha1.ProbeState
	message         string
	probed, changed time.Time
}

// resume returns a result that continues what an earlier agent published. Its runs do not count, but the published state stays
// until this agent has a result of its own.
func resume(published *v1alpha1.ContainerProbeState) result {
	if published == nil || published.State == v1alpha1.ProbeUnknown {
		return result{}
	}
	return result{
		state: published.State, message: published.Message, probed: published.LastProbeTime.Time, changed: published.LastTransitionTime.Time,
	}
}

// restart forgets the runs so far, because they were of another instance or of another handler. What is published stays until
// there is a new result.
func (r *result) restart() { r.last, r.streak = handler.Unknown, 0 }

// seen notes which instance a run is for. Runs of an older instance say nothing about the new one.
func (r *result) seen(id string) {
	if r.instance != "" && r.instance != id {
		r.restart()
	}
	r.instance = id
}

// add counts an outcome. It returns true if the published state changed. An Unknown outcome counts for nothing, and
// does not interrupt a series. As in Kubernetes, a state changes only after as many equal outcomes in a row as the
// threshold says.
func (r *result) add(spec *corev1.Probe, outcome handler.Outcome, message string, now time.Time) (changed bool) {
	if outcome == handler.Unknown {
		return false
	}
	if outcome != r.last {
		r.last, r.streak = outcome, 0
	}
	state, threshold := v1alpha1.ProbeSucceeded, spec.SuccessThreshold
	if outcome == handler.Failed {
		state, threshold = v1alpha1.ProbeFailed, spec.FailureThreshold
	}
	// The count stops at the threshold, so it cannot overflow.
	if r.streak < threshold {
		r.streak++
	}
	if r.streak < threshold {
		return false
	}
	changed = r.state != state
	if changed {
		r.changed = now
	}
	// The message and the time are published for each run from then on, even if the state stays.
	r.state, r.message, r.probed = state, message, now
	return changed
}
