// Package persistentpodstate records on which nodes the Pods of stateful workloads run. Pod admission brings a Pod that is created again
// back to that topology. record.go keeps the records of a PersistentPodState, and generate.go makes PersistentPodStates for workloads
// with the annotations for it.
package persistentpodstate
