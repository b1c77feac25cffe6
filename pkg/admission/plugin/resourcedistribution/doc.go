// Package resourcedistribution admits a ResourceDistribution only when the host cluster would take
// a copy of its resource.
//
// It owns one question, which it asks the host cluster by a dry run in our own namespace: what the
// object itself breaks, validation has refused already, so what is left is the policies of users.
// Without it they would be met in each namespace, by the controller, out of sight of whoever wrote
// the object. Enter at Register.
package resourcedistribution
