package review

import (
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// GroupName is the API group that reviews are created in.
const GroupName = "admission.kruise.io"

// GroupVersion is the version that is served.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1"}

// Kind is what is created: a kind of kube-apiserver's, not one of this group.
var Kind = admissionv1.SchemeGroupVersion.WithKind("AdmissionReview")

// Row is one thing that kube-apiserver asks about.
type Row struct {
	// Name is the resource that the reviews are created as, and the end of the webhook's path.
	Name string
	// Resources are what the reviews may be about. A subresource is written as in "pods/eviction".
	// Versions do not matter.
	Resources []schema.GroupResource
	// Operations are what they may be about.
	Operations []admission.Operation
	// Plugins are who judges, by name and in this order. One that is disabled judges nothing.
	Plugins []string
	// Mutates has the plugins change the object. The answer is a patch, and no plugin judges.
	Mutates bool
}

// covers says whether a request is what the row is for.
func (r Row) covers(request *admissionv1.AdmissionRequest) bool {
	return slices.Contains(r.Resources, resourceOf(request)) && slices.Contains(r.Operations, admission.Operation(request.Operation))
}

func resourceOf(request *admissionv1.AdmissionRequest) schema.GroupResource {
	resource := schema.GroupResource{Group: request.Resource.Group, Resource: request.Resource.Resource}
	if request.SubResource != "" {
		resource.Resource += "/" + request.SubResource
	}
	return resource
}

// Plugins are the plugins of the server's admission chain, by name. As a decorator of the chain they
// fill themselves.
type Plugins map[string]admission.Interface

// Decorate implements admission.Decorator.
func (p Plugins) Decorate(plugin admission.Interface, name string) admission.Interface {
	p[name] = plugin
	return plugin
}

// Install registers the group and the kind. The kind serves as its own hub: the installer wants an
// internal version of whatever is created, and there is nothing to convert.
func Install(scheme *runtime.Scheme) error {
	metav1.AddToGroupVersion(scheme, GroupVersion)
	scheme.AddKnownTypes(schema.GroupVersion{Group: Kind.Group, Version: runtime.APIVersionInternal}, &admissionv1.AdmissionReview{})
	return admissionv1.AddToScheme(scheme)
}
