package engine

import (
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/workload/disruption"
)

// refusedRetry is the delay before a Pod is tried again after a budget refused it.
const refusedRetry = time.Second

// Failures are the errors of a pass, one for each condition that reports them.
type Failures struct{ Scale, Update error }

// Add joins an error to the errors of an aim. A nil error changes nothing.
func (f *Failures) Add(aim Aim, err error) {
	if aim == Scale {
		f.Scale = errors.Join(f.Scale, err)
	} else {
		f.Update = errors.Join(f.Update, err)
	}
}

// Outcome is the result of executing a Plan.
type Outcome struct {
	Failures
	// ScaleDecided and UpdatesDecided report whether scaling and update planning ran. Only then does a nil error clear the failure
	// condition.
	ScaleDecided, UpdatesDecided bool
	// Complete is true if every stage ran, and the time of the pass was enough. Otherwise the next pass goes on.
	Complete bool
	// Revision is the update revision as stored on the server, or nil if it could not be written.
	Revision *appsv1.ControllerRevision
	// CollisionCount is the value for the workload's status.
	CollisionCount *int32
	// Recheck is the delay until the next pass is due even if nothing changes. Zero means none is due.
	Recheck time.Duration
}

// withoutRefusals drops errors that are refusals by a budget, and returns the first of them. A refusal is no failure: the Pod is tried
// again.
func (o *Outcome) withoutRefusals() error {
	var scale, update error
	scale, o.Scale = disruption.WithoutRefusals(o.Scale)
	update, o.Update = disruption.WithoutRefusals(o.Update)
	if scale == nil {
		scale = update
	}
	if scale != nil {
		o.Recheck = delay.Sooner(o.Recheck, refusedRetry)
	}
	return scale
}

// heldPatience is how long each pass is refused by a budget before an event says so. Pods of a rollout usually wait for the one before
// them.
const heldPatience = 30 * time.Second

// refusals is since when each pass was refused by a budget. It is zero if the last one was not. told is true after the event.
type refusals struct {
	since time.Time
	told  bool
}

// tellRefusal sends one event about a workload that a budget holds for long. The budget has events of its own, which users do not see
// beside those of the workload.
func (x *execution) tellRefusal(refusal error) {
	held := &x.view.memory.refusals
	switch {
	case refusal == nil:
		*held = refusals{}
	case held.since.IsZero():
		held.since = x.view.Now
	case !held.told && x.view.Now.Sub(held.since) >= heldPatience:
		held.told = true
		x.Recorder.Eventf(x.view.Object, corev1.EventTypeWarning, "HeldByBudget",
			"Pods wait for a PodUnavailableBudget. The workload goes on when the budget allows it: %v", refusal)
	}
}
