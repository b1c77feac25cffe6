// Package policy lists the kinds of the group policy.kruise.io for the registry.
//
// Each kind has one file with a value that describes the kind completely. The table of kinds is in storage.go.
// Behaviour that all kinds share is in kruise.io/kruise/pkg/registry/rest. Enter at Kinds.
package policy
