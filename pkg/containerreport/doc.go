// Package containerreport owns what a node agent reports of a Pod's containers, in an annotation of the Pod: its form, and the
// hash of environment variables that read the Pod's metadata.
//
// The agent writes the report (pkg/nodeagent/containerreporter), the engine of workloads reads it (pkg/workload/inplace). Both
// must come to the same hash from the same metadata, and so both ask here. Enter at Read and VariablesOf.
package containerreport
