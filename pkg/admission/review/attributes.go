package review

import (
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
)

// interfaces describes the types of the host cluster to plugins. It has no custom types; plugins get those as
// unstructured objects.
var interfaces = admission.NewObjectInterfacesFromScheme(scheme.Scheme)

// attributesOf returns the attributes that a plugin in kube-apiserver would get. Its errors are those of a malformed
// review, so the caller answers 400.
func attributesOf(request *admissionv1.AdmissionRequest) (admission.Attributes, error) {
	kind := schema.GroupVersionKind(request.Kind)
	object, err := decode(request.Object.Raw, kind)
	if err != nil {
		return nil, fmt.Errorf("request.object: %w", err)
	}
	old, err := decode(request.OldObject.Raw, kind)
	if err != nil {
		return nil, fmt.Errorf("request.oldObject: %w", err)
	}
	options, err := optionsOf(request)
	if err != nil {
		return nil, fmt.Errorf("request.options: %w", err)
	}
	return admission.NewAttributesRecord(object, old, kind, request.Namespace, request.Name,
		schema.GroupVersionResource(request.Resource), request.SubResource, admission.Operation(request.Operation),
		options, ptr.Deref(request.DryRun, false), userOf(request.UserInfo)), nil
}

// decode returns a typed object, or an unstructured one if client-go has no type for the kind. Fields that the typed
// object does not know are lost, so plugins that change objects write patches (see Patcher).
func decode(raw []byte, kind schema.GroupVersionKind) (runtime.Object, error) {
	if len(raw) == 0 {
		return nil, nil //nolint:nilnil // no object is what plugins see as nil
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, &kind, nil)
	if runtime.IsNotRegisteredError(err) {
		object, _, err = unstructured.UnstructuredJSONScheme.Decode(raw, &kind, nil)
	}
	return object, err
}

// optionsOf returns the options of the operation. They are empty if the review has none. Plugins read the
// preconditions and the propagation policy of a deletion from them.
func optionsOf(request *admissionv1.AdmissionRequest) (runtime.Object, error) {
	var options runtime.Object
	switch request.Operation {
	case admissionv1.Create:
		options = &metav1.CreateOptions{}
	case admissionv1.Update:
		options = &metav1.UpdateOptions{}
	case admissionv1.Delete:
		options = &metav1.DeleteOptions{}
	case admissionv1.Connect:
		return nil, nil //nolint:nilnil // each subresource has its own
	default:
		return nil, fmt.Errorf("operation %q is unknown", request.Operation)
	}
	if len(request.Options.Raw) == 0 {
		return options, nil
	}
	return options, json.Unmarshal(request.Options.Raw, options)
}

// userOf returns the user who sent the original request. The review itself is sent by kube-apiserver.
func userOf(info authenticationv1.UserInfo) user.Info {
	extra := make(map[string][]string, len(info.Extra))
	for key, values := range info.Extra {
		extra[key] = values
	}
	return &user.DefaultInfo{Name: info.Username, UID: info.UID, Groups: info.Groups, Extra: extra}
}
