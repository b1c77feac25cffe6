// Package containerrestart carries out the ContainerRecreateRequests for the Pods of its node. It stops containers,
// waits until the kubelet has restarted them, and records the progress in the status of the request.
//
// Requests for the same Pod run one after the other. Different Pods run in parallel. A pass over a Pod reads the
// containers from the runtime (observe), derives the state of each (stateOf), and makes one step. A step writes the
// status, or stops one container and then writes the status. A separate queue sets the message of waiting requests
// (hold). Each write causes a watch event, which starts the next pass.
//
// All state is in the request, so the agent, the kubelet and the runtime may restart at any time. A new instance
// proves that a container restarted. With forceRecreate it is no proof, because the request also stops a container
// that has restarted since. So the agent records the instance in the status before it stops the instance.
//
// The controller in pkg/controller/containerrecreaterequest copies the container statuses of the Pod into the request.
//
// Enter at New, then reconcile.
package containerrestart
