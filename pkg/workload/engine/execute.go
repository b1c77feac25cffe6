package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/workload/podcontrol"
)

// passContinues is how soon a pass that stopped for its time is followed by another. The guard makes that one wait until the
// caches show what this one wrote.
const passContinues = 10 * time.Millisecond

// execution is one pass over a View.
type execution struct {
	*Engine
	view     *View
	deadline time.Time
	// changed and unknown tell of the writes to Pods, more that there was no time for all of them.
	changed, unknown, more atomic.Bool

	lock sync.Mutex
	// attempted are the IDs of this pass whose creation may still arrive, created those whose creation did. Unresolved are Pods with
	// a write of unknown outcome.
	attempted  map[string]time.Time
	unresolved []string
	created    map[string]bool
}

// Execute settles the Pods and carries out the plan of the View. Failures are in the Outcome, for the workload's status.
func (e *Engine) Execute(ctx context.Context, v *View, plan *Plan) Outcome {
	x := &execution{
		Engine: e, view: v, deadline: e.Clock.Now().Add(e.passTime()), created: map[string]bool{}, attempted: map[string]time.Time{},
	}
	defer x.remember()
	outcome := Outcome{Failures: plan.Err, CollisionCount: v.Revisions.CollisionCount}
	outcome.Add(Scale, x.resolve(ctx))
	outcome.Add(Scale, x.disown(ctx))
	outcome.Add(Scale, x.adopt(ctx))
	settled := v.settle(plan)
	outcome.Recheck = Sooner(settled.recheck, v.claimsWait())
	outcome.Add(Update, settled.err)
	outcome.Add(Update, x.writeAll(ctx, settled.changes))
	outcome.Add(Scale, x.moveClaims(ctx, v.claimMoves(plan.deleted())))
	var err error
	outcome.Revision, outcome.CollisionCount, err = x.writeRevision(ctx)
	outcome.Add(Update, err)
	if outcome.Revision != nil {
		x.stages(ctx, plan, &outcome)
	}
	if x.more.Load() {
		outcome.Recheck = Sooner(outcome.Recheck, passContinues)
	}
	outcome.withoutRefusals()
	return outcome
}

// stages carries out stages until one of them changes something. Settling makes Pods serve and never takes them out of service,
// so scaling may go on beside it. Updates begin where nothing else was done.
func (x *execution) stages(ctx context.Context, plan *Plan, outcome *Outcome) {
	settled := x.changed.Swap(false)
	for i := range plan.Stages {
		stage := &plan.Stages[i]
		if x.unknown.Load() || x.changed.Load() || stage.Aim == Update && settled {
			return
		}
		outcome.ScaleDecided = true
		outcome.Add(stage.Aim, x.stage(ctx, stage))
	}
	outcome.UpdatesDecided = !x.unknown.Load() && !settled && (!x.changed.Load() || endsWithUpdates(plan))
}

func endsWithUpdates(plan *Plan) bool {
	return len(plan.Stages) > 0 && plan.Stages[len(plan.Stages)-1].Aim == Update
}

func (x *execution) stage(ctx context.Context, stage *Stage) error {
	for _, notice := range stage.Warn {
		x.Recorder.Event(x.view.Object, corev1.EventTypeWarning, notice.Reason, notice.Message)
	}
	var failures Failures
	failures.Add(stage.Aim, x.create(ctx, stage.Create))
	failures.Add(stage.Aim, x.writeAll(ctx, stage.Changes))
	failures.Add(stage.Aim, x.delete(ctx, stage.Delete))
	failures.Add(stage.Aim, x.update(ctx, stage.Updates))
	if stage.Aim == Scale {
		return failures.Scale
	}
	return failures.Update
}

// each calls f for 0..n-1, several at once, and starts no more of them once the pass had its time.
func (x *execution) each(n int, f func(i int) error) error {
	return podcontrol.Parallel(n, x.width(), func(i int) error {
		if i > 0 && x.spent() {
			return nil
		}
		return f(i)
	})
}

// spent tells whether the pass had its time.
func (x *execution) spent() bool {
	if x.Clock.Now().Before(x.deadline) {
		return false
	}
	x.more.Store(true)
	return true
}

// remember leaves to the next pass what it needs to know.
func (x *execution) remember() {
	v := x.view
	kept := v.memory
	kept.attempted, kept.unresolved = x.attempted, x.unresolved
	for id, tried := range v.memory.attempted {
		arrived := x.created[id] || slices.ContainsFunc(v.Pods, func(pod *corev1.Pod) bool { return v.Instance(pod) == id })
		if _, again := kept.attempted[id]; !again && !arrived && v.memory.mayArrive(id, v.Now) {
			kept.attempted[id] = tried
		}
	}
	x.memories.keep(v.Object.GetUID(), kept)
}

func (x *execution) eventf(eventType, reason, format string, args ...any) {
	x.Recorder.Eventf(x.view.Object, eventType, reason, format, args...)
}
