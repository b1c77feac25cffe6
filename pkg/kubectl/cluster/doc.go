// Package cluster reads what commands of the plugin show: workloads with their revisions, Pods, claims and warnings. Workloads are
// read in the version in which they are stored, whatever version the server prefers.
//
// Reads and writes of all commands work with CustomResourceDefinitions of OpenKruise too, by the transport in older.go, so no command
// depends on what the server has.
//
// Enter at New.
package cluster
