// Package engine brings a workload's Pods from their current state to the state that the workload wants. Every kind that owns
// Pods uses it.
//
// One pass has three steps:
//
//	observe  Engine.Observe reads the caches by index into a View.
//	plan     The kind's planner, a pure function of the View, returns a Plan.
//	execute  Engine.Execute settles Pods, then executes the Plan's stages, and returns an Outcome.
//
// A View and a Plan never change once they are made. The kind owns its arithmetic, its order and its status. The engine owns
// every write to Pods, their claims and revisions:
//
//   - Settling always runs: finished in-place updates are released, hooks and grace periods advance.
//   - If the answer to a write is lost, the object is read again. If that read fails too, the pass makes no further
//     creations, deletions or updates.
//   - When a Pod is deleted on purpose, its claims move to the Pod first, so no other Pod ever mounts them.
//   - A pass starts new writes for about one second. The next pass continues from what the caches show then.
//
// A Server is the API that the engine writes to. NewServer returns one over a Kubernetes client. The simulation in
// pkg/controller/controllertest has one that loses answers.
package engine
