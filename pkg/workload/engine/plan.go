package engine

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/podcontrol"
)

// Plan is the decision of a kind's planner. A planner is a pure function of a View.
type Plan struct {
	// Awaited are the Pods in state PreparingUpdate whose update is still wanted. The other Pods in that state return to service. A
	// later update begins with their hook again.
	Awaited map[types.UID]bool
	// Stages are executed in order until one of them changes something. A later stage is decided again after the caches show that
	// change.
	Stages []Stage
	// Err says why the planner could not decide everything. It is reported, and does not stop the decided stages.
	Err Failures
}

// updated returns the Pods that a stage updates.
func (p *Plan) updated() map[types.UID]bool {
	pods := map[types.UID]bool{}
	for i := range p.Stages {
		for j := range p.Stages[i].Updates {
			pods[p.Stages[i].Updates[j].Pod.UID] = true
		}
	}
	return pods
}

// Aim is the purpose of a stage. It selects the condition that reports the stage's errors.
type Aim int

const (
	// Scale changes the number of Pods.
	Scale Aim = iota
	// Update brings Pods to their revision.
	Update
)

// Stage is a set of changes that may be made at the same time.
type Stage struct {
	Aim Aim
	// Warn are events to send before the stage is executed.
	Warn []Notice
	// Claims are claims to create or change, before anything else of the stage.
	Claims []ClaimChange
	// Create, Changes, Delete and Updates are executed in this order.
	Create  []Creation
	Changes []Change
	Delete  []Deletion
	Updates []PodUpdate
}

// Empty reports whether the stage changes nothing.
func (s *Stage) Empty() bool {
	return len(s.Claims)+len(s.Create)+len(s.Changes)+len(s.Delete)+len(s.Updates) == 0
}

// Creation is a Pod to create, with its claims.
type Creation struct {
	Blueprint *podcontrol.Blueprint
	ID        string
}

// Deletion is a Pod to delete. Its claims are deleted with it, unless KeepClaims keeps them for the replacement Pod.
type Deletion struct {
	Pod        *corev1.Pod
	KeepClaims bool
}

// PodUpdate is a Pod to bring to a revision.
type PodUpdate struct {
	Pod    *corev1.Pod
	Target *appsv1.ControllerRevision
	// Change is the in-place change. If it is nil, the Pod is marked for deletion and a later pass replaces it.
	Change *inplace.Change
}

// Part is the part of a Pod that a write reaches.
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
	// Exact rejects the write if the Pod changed since Before was read.
	Exact bool
	// Tell sends an event about the write.
	Tell bool
	// Disrupts reserves the Pod's share of its budget before the write, because the Pod leaves service for an update.
	Disrupts bool
}

// ClaimChange is a claim to create, or a write to one.
type ClaimChange struct {
	// Before is nil for a claim to create.
	Before, After *corev1.PersistentVolumeClaim
	// Pod is the name of the Pod that mounts the claim.
	Pod string
	// Act is Edit or Expand. It selects the event about a change.
	Act Act
}

// Notice is an event about the workload. Its type is Warning, unless Normal is set.
type Notice struct {
	Reason, Message string
	Normal          bool
}

// deleted returns the UIDs of the Pods that the plan's stages delete, also of stages that will not run in this pass.
func (p *Plan) deleted() map[types.UID]bool {
	deleted := map[types.UID]bool{}
	for i := range p.Stages {
		for _, deletion := range p.Stages[i].Delete {
			deleted[deletion.Pod.UID] = true
		}
	}
	return deleted
}
