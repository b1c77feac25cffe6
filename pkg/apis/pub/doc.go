// Package pub holds the types and the well-known names that several API groups of kruise.io share: lifecycle hooks,
// in-place update settings, update order. Like metav1 it has no version of its own: a type here never changes its
// shape, and every versioned package embeds it unchanged.
//
// It holds no behaviour. Enter at lifecycle.go, update.go and wellknown.go.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.kruise.kruise.pkg.apis.pub
// +k8s:protobuf-gen=package
package pub
