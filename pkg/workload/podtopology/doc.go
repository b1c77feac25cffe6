// Package podtopology records the topology of the nodes of Pods for a PersistentPodState, and finds the PersistentPodState of a Pod. The
// controller writes records, and Pod admission applies them to Pods that are created again.
//
// All functions are pure, except for lookups in an index. Enter at Of, Record, Required, Preferred and Excludes.
package podtopology
