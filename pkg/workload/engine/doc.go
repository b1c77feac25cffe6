// Package engine carries a workload's Pods from what they are to what the workload wants. Every kind that owns Pods uses it.
//
// One pass goes one way:
//
//	observe  Engine.Observe reads the caches by index into a View.
//	plan     The kind's planner, a pure function of the View, returns a Plan.
//	execute  Engine.Execute settles Pods, then carries out the Plan's stages, and returns an Outcome.
//
// A View and a Plan never change once they are made. The kind owns its arithmetic, its order and its status. The engine owns
// every write to Pods, their claims and revisions:
//
//   - Settling always runs: finished in-place updates are released, hooks and grace periods go on.
//   - A write whose answer was lost is looked up. When the outcome stays unknown, the pass creates, deletes and updates nothing.
//   - Claims of a Pod that is deleted on purpose are handed to the Pod first, so no other Pod ever mounts them.
//   - A pass stops to start writes after about a second. The next pass continues with what the caches show then.
//
// A Server is what the engine writes to. NewServer returns the one over a Kubernetes client; the simulation in
// pkg/controller/controllertest brings one that loses answers.
package engine
