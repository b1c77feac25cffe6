// Package resourcedistribution copies the Secret or ConfigMap of a ResourceDistribution into namespaces. targets.go decides which
// namespaces get a copy, copies.go compares and writes copies, and status.go counts them.
//
// A label on each copy lets the controller watch copies alone, and never the other Secrets of the cluster. The cache holds the
// metadata of a copy and a digest of its content.
//
// A change of the spec ends a pass, and the next one begins with the new spec. There is no limit of time: namespaces whose writes take
// long would then keep the others from their turn.
//
// A pass compares the copies in the cache with the template, and writes only in namespaces where they differ. A failure in one
// namespace does not stop the others. The guard stops the next pass until the cache shows the copies that were written, because
// a copy that is missing in the cache would cost another request.
//
// Objects of others are never changed: a copy is recognized by its owner reference, not by its name.
package resourcedistribution
