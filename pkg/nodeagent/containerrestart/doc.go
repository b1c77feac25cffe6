// Package containerrestart carries out the ContainerRecreateRequests for the Pods of its node: it stops containers, sees that
// the kubelet starts them again, and says in the request's status how far each has come.
//
// Requests of one Pod are worked on one after the other, Pods side by side. A pass over a Pod looks at what the runtime has
// (observe), says what that means for each container (stateOf), and makes one step: a write of the status, or one container
// stopped and then a write. Requests that wait for another one are told so beside that (hold). Every write is an event that
// brings the next pass. Nothing is remembered beside the request, so the agent, the kubelet and the runtime may end at any
// moment: that another instance runs is the proof of a restart. Where that is no proof, because the request asks to stop the
// container in any case, the instance to stop is announced first.
//
// What the Pod says of its containers comes from the controller (pkg/controller/containerrecreaterequest), in the request.
//
// Enter at New, then reconcile.
package containerrestart
