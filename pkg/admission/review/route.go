package review

import (
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// GroupName is the API group of the review resources.
const GroupName = "admission.kruise.io"

// GroupVersion is the served version.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1"}

// Kind is the kind of the request body. It belongs to kube-apiserver's group and not to this one.
var Kind = admissionv1.SchemeGroupVersion.WithKind("AdmissionReview")

// Route describes one kind of review. Routes are a constant table of the caller and are not changed.
type Route struct {
	// Name is the resource name of the reviews and the end of the webhook path.
	Name string
	// Resources lists the resources that may be reviewed, in any version. A subresource is written as in "pods/eviction".
	Resources []schema.GroupResource
	// AnyResource allows every resource, but no subresource.
	AnyResource bool
	// Operations lists the operations that may be reviewed.
	Operations []admission.Operation
	// Plugins lists the plugins to call, by name and in this order. A disabled plugin is skipped.
	Plugins []string
	// Mutates asks the plugins for a patch, see Patcher. Validation does not run.
	Mutates bool
}

// covers returns true if the route reviews this request. Anything else comes from a wrong webhook configuration, and
// a plugin might misread it.
func (r Route) covers(request *admissionv1.AdmissionRequest) bool {
	covered := slices.Contains(r.Resources, resourceOf(request)) || r.AnyResource && request.SubResource == ""
	return covered && slices.Contains(r.Operations, admission.Operation(request.Operation))
}

// resourceOf returns the reviewed resource in the form of Route.Resources, with the subresource after a slash.
func resourceOf(request *admissionv1.AdmissionRequest) schema.GroupResource {
	resource := schema.GroupResource{Group: request.Resource.Group, Resource: request.Resource.Resource}
	if request.SubResource != "" {
		resource.Resource += "/" + request.SubResource
	}
	return resource
}

// Plugins maps names to the plugins of the server's admission chain. It is a decorator of the chain, so building the
// chain fills it. The reviews then use the same instances, with the same caches and remembered grants.
type Plugins map[string]admission.Interface

// Decorate implements admission.Decorator.
func (p Plugins) Decorate(plugin admission.Interface, name string) admission.Interface {
	p[name] = plugin
	return plugin
}

// Install registers the group and the kind. The API installer needs an internal version of each kind that can be
// created. There is nothing to convert, so the kind is its own internal version.
func Install(scheme *runtime.Scheme) error {
	metav1.AddToGroupVersion(scheme, GroupVersion)
	scheme.AddKnownTypes(schema.GroupVersion{Group: Kind.Group, Version: runtime.APIVersionInternal}, &admissionv1.AdmissionReview{})
	return admissionv1.AddToScheme(scheme)
}
