// Package lifecycle owns the state machine that a Pod carries in a label while a workload creates, updates and deletes it.
//
// It reads and names states and decides transitions; it writes nothing. Enter at Of to read a Pod's state, and at
// Next for the transition that is due. Who writes the label, and when, is the workload controller's business.
package lifecycle
