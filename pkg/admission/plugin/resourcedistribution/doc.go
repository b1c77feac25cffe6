// Package resourcedistribution admits a ResourceDistribution only if the host cluster would accept a copy of its resource.
//
// It creates the copy as a dry run in the Kruise namespace. Validation has already checked the object itself, so the
// dry run mainly checks the admission policies of users. Without this plugin the controller would hit those policies
// in each namespace, where the author of the object would not see the error. Enter at Register.
package resourcedistribution
