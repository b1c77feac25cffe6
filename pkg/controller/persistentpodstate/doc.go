// Package persistentpodstate records on which nodes the Pods of stateful workloads run. Pod admission brings a Pod that is created again
// back to that topology. record.go keeps the records of a PersistentPodState, and generate.go makes PersistentPodStates for workloads
// with the annotations for it. custom.go finds such workloads of kinds that are not watched.
//
// A record is made only of a Pod that is ready, and goes when the Pod is gone and its ordinal is out of range, unless the
// retention policy keeps it. So a Pod that waits for a node keeps the topology to which it must return. A generated
// PersistentPodState records in an annotation which annotations of the workload it was made from. It is changed again only when
// these change, so that users may change it meanwhile.
package persistentpodstate
