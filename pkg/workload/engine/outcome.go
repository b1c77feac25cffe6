package engine

import (
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kruise.io/kruise/pkg/workload/disruption"
)

// refusedRetry is how soon a Pod is tried again that a budget held.
const refusedRetry = time.Second

// Failures are what went wrong, by the condition that tells of it.
type Failures struct{ Scale, Update error }

// Add joins an error to those of an aim.
func (f *Failures) Add(aim Aim, err error) {
	if aim == Scale {
		f.Scale = errors.Join(f.Scale, err)
	} else {
		f.Update = errors.Join(f.Update, err)
	}
}

// Outcome is what became of a Plan.
type Outcome struct {
	Failures
	// ScaleDecided and UpdatesDecided are true when the pass came to that, so that no failure there means that all is well again.
	ScaleDecided, UpdatesDecided bool
	// Revision is the update revision as the server has it, or nil when it could not be written.
	Revision *appsv1.ControllerRevision
	// CollisionCount is the number to put into the workload's status.
	CollisionCount *int32
	// Recheck is when to look again though nothing changes, or zero.
	Recheck time.Duration
}

// withoutRefusals drops what budgets refused: that is no failure, the Pod's turn comes.
func (o *Outcome) withoutRefusals() {
	var scale, update bool
	scale, o.Scale = disruption.WithoutRefusals(o.Scale)
	if update, o.Update = disruption.WithoutRefusals(o.Update); scale || update {
		o.Recheck = Sooner(o.Recheck, refusedRetry)
	}
}
