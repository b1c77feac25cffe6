// Package policy lists the kinds of the group policy.kruise.io for the registry.
//
// One file for each kind, a value that says everything about it, and storage.go, the table.
// What all kinds do alike is in kruise.io/kruise/pkg/registry/rest. Enter at Kinds.
package policy
