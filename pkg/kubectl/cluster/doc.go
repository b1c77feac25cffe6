// Package cluster reads what commands of the plugin show: workloads with their revisions, Pods, claims and warnings. Workloads are
// read in the version in which they are stored, whatever version the server prefers.
//
// It writes nothing. Enter at New.
package cluster
