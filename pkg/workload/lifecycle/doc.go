// Package lifecycle owns the state machine of a Pod while a workload creates, updates and deletes it. The state is stored in a
// label of the Pod.
//
// The package reads states and decides transitions; it makes no API requests. Enter at Of to read a Pod's state, and at Next for
// the transition that is due. The workload controller decides when to write the label.
package lifecycle
