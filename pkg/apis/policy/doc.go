// Package policy holds the hub types of the group policy.kruise.io: the internal form between the served
// versions. The hub has the shape of v1beta1 and is never written to a wire or a store.
//
// One file for each kind (types_<kind>.go). Versions and their conversions are in
// v1alpha1 and v1beta1, registration for a server in install, rules in validation.
//
// +k8s:deepcopy-gen=package
// +groupName=policy.kruise.io
package policy
