package engine

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/podcontrol"
)

// Plan is what a kind's planner decides. A planner is a pure function of a View.
type Plan struct {
	// Awaited are the Pods in state PreparingUpdate whose update is still wanted. The others go back to what they were.
	Awaited map[types.UID]bool
	// Stages are carried out in turn until one of them changed something. What was changed is seen before more is decided.
	Stages []Stage
	// Err is why the planner could not decide everything. It is reported, and holds up nothing that was decided.
	Err Failures
}

// Aim says what a stage is about, and so which condition tells of its failures.
type Aim int

const (
	// Scale changes how many Pods there are.
	Scale Aim = iota
	// Update brings Pods to their revision.
	Update
)

// Stage is a set of changes that may be made at the same time.
type Stage struct {
	Aim Aim
	// Warn is said before the stage is carried out.
	Warn    []Notice
	Create  []Creation
	Changes []Change
	Delete  []Deletion
	Updates []PodUpdate
}

// Empty tells whether the stage changes nothing.
func (s *Stage) Empty() bool { return len(s.Create)+len(s.Changes)+len(s.Delete)+len(s.Updates) == 0 }

// Creation is a Pod to create, with its claims.
type Creation struct {
	Blueprint *podcontrol.Blueprint
	ID        string
}

// Deletion is a Pod to delete. Its claims go with it, unless they are kept for the Pod that replaces it.
type Deletion struct {
	Pod        *corev1.Pod
	KeepClaims bool
}

// PodUpdate is a Pod to bring to a revision.
type PodUpdate struct {
	Pod    *corev1.Pod
	Target *appsv1.ControllerRevision
	// Change is made in place. Without one the Pod is marked for deletion, and replaced by a later pass.
	Change *inplace.Change
}

// Part is what a write to a Pod reaches.
type Part int

const (
	// Main is metadata and spec.
	Main Part = iota
	// Status is metadata and status.
	Status
	// Resize is the resources of containers.
	Resize
)

// Change is a write to one Pod.
type Change struct {
	Before, After *corev1.Pod
	Part          Part
	// Exact refuses the write when the Pod changed meanwhile.
	Exact bool
}

// Notice is an event of type Warning about the workload.
type Notice struct{ Reason, Message string }

// deleted returns the Pods that the plan's stages delete on purpose.
func (p *Plan) deleted() map[types.UID]bool {
	deleted := map[types.UID]bool{}
	for i := range p.Stages {
		for _, deletion := range p.Stages[i].Delete {
			deleted[deletion.Pod.UID] = true
		}
	}
	return deleted
}
