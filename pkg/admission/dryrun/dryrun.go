// Package dryrun tells whether a request is a dry run.
package dryrun

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

// Requested returns true for a dry run. An eviction can request a dry run in two places: in the query of the request,
// as every write, and in its own delete options. kube-apiserver honours both, so a plugin that looks only at the
// attributes would count an eviction that never happens. Both served versions of Eviction are decoded to their own
// type.
func Requested(attributes admission.Attributes) bool {
	var options *metav1.DeleteOptions
	switch eviction := attributes.GetObject().(type) {
	case *policyv1.Eviction:
		options = eviction.DeleteOptions
	case *policyv1beta1.Eviction:
		options = eviction.DeleteOptions
	}
	return attributes.IsDryRun() || options != nil && slices.Contains(options.DryRun, metav1.DryRunAll)
}
