// Package resourcedistribution copies the Secret or ConfigMap of a ResourceDistribution into namespaces. targets.go decides which
// namespaces get a copy, copies.go compares and writes copies, and status.go counts them.
//
// A label on each copy lets the controller watch copies alone, and never the other Secrets of the cluster. The cache holds the
// metadata of a copy and a digest of its content.
package resourcedistribution
