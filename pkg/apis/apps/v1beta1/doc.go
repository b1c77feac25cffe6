// Package v1beta1 holds version v1beta1 of the group apps.kruise.io as sent and stored, and its conversion
// to the hub types of kruise.io/kruise/pkg/apis/apps.
//
// Clients import this package: it reaches neither k8s.io/kubernetes nor a server. Defaulting functions are
// here, but only install registers them: the scheme of a client does not default objects. Protobuf field
// numbers never change once released.
//
// One file for each kind (types_<kind>.go), with defaults_<kind>.go and
// conversion_<kind>.go beside it.
//
// +groupName=apps.kruise.io
// +k8s:deepcopy-gen=package
// +k8s:register-gen=package
// +k8s:conversion-gen=kruise.io/kruise/pkg/apis/apps
// +k8s:defaulter-gen=TypeMeta
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.kruise.kruise.pkg.apis.apps.v1beta1
// +k8s:protobuf-gen=package
package v1beta1
