package pub

import "k8s.io/apimachinery/pkg/runtime/schema"

// SchemeGroupVersion names the shared types where generated code asks for a group and a
// version. No server serves it.
var SchemeGroupVersion = schema.GroupVersion{Group: "pub.kruise.io", Version: "v1"}
