package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/passes"
)

// execution is one pass over a View.
type execution struct {
	// The fields of an execution are used by several goroutines: the atomic values and, under lock, the maps and the slice. The
	// others are only read.
	*Engine
	*passes.Pass
	view *View
	// changed: a Pod was written. unknown: the outcome of a write to a Pod is unknown.
	changed, unknown atomic.Bool

	lock sync.Mutex
	// attempted are the instance IDs of this pass whose creation may still arrive. created are the IDs whose creation succeeded.
	// unresolved are the names of Pods with a write of unknown outcome.
	attempted  map[string]time.Time
	unresolved []string
	created    map[string]bool
}

// Execute settles the Pods and executes the plan for the View. Errors are returned in the Outcome, for the workload's status.
// No error stops the steps behind it, except that stages need the stored revision. The order matters: what puts Pods into
// service, or keeps claims safe, comes before the stages.
func (e *Engine) Execute(ctx context.Context, v *View, plan *Plan) Outcome {
	x := &execution{
		Engine: e, Pass: passes.Begin(e.Clock, e.Width), view: v, created: map[string]bool{}, attempted: map[string]time.Time{},
	}
	outcome := Outcome{Failures: plan.Err, CollisionCount: v.Revisions.CollisionCount}
	outcome.Add(Scale, x.resolve(ctx))
	outcome.Add(Scale, x.disown(ctx))
	outcome.Add(Scale, x.adopt(ctx))
	x.tellStrangers()
	adopted, err := x.adoptRevisions(ctx)
	outcome.Add(Update, err)
	settled := v.settle(plan)
	outcome.Recheck = delay.Sooner(settled.recheck, v.claimsWait())
	outcome.Add(Update, settled.err)
	outcome.Add(Update, x.writeAll(ctx, settled.changes))
	outcome.Add(Scale, x.moveClaims(ctx, v.claimMoves(plan.deleted())))
	// The adopted revisions have changed since they were observed, so the next pass decides about a new one.
	if !adopted || v.revision == history.Reuse {
		outcome.Revision, outcome.CollisionCount, err = x.writeRevision(ctx)
		outcome.Add(Update, err)
	}
	// A new Pod would name a revision that does not exist.
	if outcome.Revision != nil {
		x.stages(ctx, plan, &outcome)
	}
	if x.Unfinished() {
		outcome.Recheck, outcome.Complete = delay.Sooner(outcome.Recheck, passes.Continue), false
	}
	x.tellRefusal(outcome.withoutRefusals())
	x.remember(&outcome)
	return outcome
}

// stages executes the stages until one of them changes something. Settling only puts Pods into service, so a stage that scales
// may run in the same pass. A stage that updates runs only if nothing else changed in this pass. No stage runs while the
// outcome of a write is unknown: the View may lack a Pod, or show one that is gone.
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
	outcome.Complete = !x.unknown.Load()
	outcome.UpdatesDecided = !x.unknown.Load() && !settled && (!x.changed.Load() || endsWithUpdates(plan))
}

// endsWithUpdates reports whether the last stage updates Pods. If this one changed something, all earlier ones changed nothing.
func endsWithUpdates(plan *Plan) bool {
	return len(plan.Stages) > 0 && plan.Stages[len(plan.Stages)-1].Aim == Update
}

// stage makes the changes of one stage, and returns the errors for the condition of its aim. Claims come first, because new
// Pods mount them.
func (x *execution) stage(ctx context.Context, stage *Stage) error {
	for _, notice := range stage.Warn {
		eventType := corev1.EventTypeWarning
		if notice.Normal {
			eventType = corev1.EventTypeNormal
		}
		x.Recorder.Event(x.view.Object, eventType, notice.Reason, notice.Message)
	}
	var failures Failures
	failures.Add(stage.Aim, x.writeClaims(ctx, stage.Claims))
	failures.Add(stage.Aim, x.create(ctx, stage.Create))
	failures.Add(stage.Aim, x.writeAll(ctx, stage.Changes))
	failures.Add(stage.Aim, x.delete(ctx, stage.Delete))
	failures.Add(stage.Aim, x.update(ctx, stage.Updates))
	if stage.Aim == Scale {
		return failures.Scale
	}
	return failures.Update
}

// remember stores what the next pass must know. An attempt of an earlier pass stays until its Pod is seen, or until it can no
// longer arrive.
func (x *execution) remember(outcome *Outcome) {
	v := x.view
	kept := v.memory
	kept.attempted, kept.unresolved, kept.generation = x.attempted, x.unresolved, 0
	if !outcome.Complete {
		kept.generation = v.Object.GetGeneration()
	}
	for id, attempt := range v.memory.attempted {
		if _, again := kept.attempted[id]; !again && !x.created[id] && !v.arrived(id) && v.memory.mayArrive(id, v.Now) {
			kept.attempted[id] = attempt
		}
	}
	x.memories.keep(v.Object.GetUID(), kept)
}

// arrived reports whether the caches show a Pod of the instance, in any state.
func (v *View) arrived(id string) bool {
	has := func(pod *corev1.Pod) bool { return v.Instance(pod) == id }
	return slices.ContainsFunc(v.Pods, has) || slices.ContainsFunc(v.Released, has) || slices.ContainsFunc(v.Inactive, has)
}
