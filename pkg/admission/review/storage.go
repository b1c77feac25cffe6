package review

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/metrics"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
)

// Storage returns the REST storage of the routes, by resource name. Call it after the admission chain is built,
// because plugins is filled then. A route whose plugins are all disabled allows everything.
func Storage(routes []Route, plugins Plugins) map[string]rest.Storage {
	registerMetrics()
	storage := map[string]rest.Storage{}
	for _, route := range routes {
		served := &reviewREST{route: route}
		for _, name := range route.Plugins {
			if plugin, enabled := plugins[name]; enabled {
				served.plugins = append(served.plugins, named{plugin, name})
			}
		}
		storage[route.Name] = served
	}
	return storage
}

// reviewREST serves the reviews of one route. It is stateless: a review is answered and not stored.
type reviewREST struct {
	route   Route
	plugins []named
}

// named is a plugin with its name in metrics.
type named struct {
	admission.Interface
	name string
}

// observe counts a call of the plugin as the admission chain would, so a plugin has the same metrics for reviews and
// for requests of this server.
func (n *named) observe(ctx context.Context, attributes admission.Attributes, step string, call func() error) error {
	start := time.Now()
	err := call()
	metrics.Metrics.ObserveAdmissionController(ctx, time.Since(start), err != nil, attributes, step, n.name)
	return err
}

var (
	_ rest.Creater                  = &reviewREST{} //nolint:misspell // the library spells it so
	_ rest.Scoper                   = &reviewREST{}
	_ rest.SingularNameProvider     = &reviewREST{}
	_ rest.GroupVersionKindProvider = &reviewREST{}
)

// New implements rest.Storage.
func (*reviewREST) New() runtime.Object { return &admissionv1.AdmissionReview{} }

// Destroy implements rest.Storage.
func (*reviewREST) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (*reviewREST) NamespaceScoped() bool { return false }

// GetSingularName implements rest.SingularNameProvider.
func (r *reviewREST) GetSingularName() string { return r.route.Name }

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (*reviewREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind { return Kind }

// Create answers a review. If it returns an error, kube-apiserver treats the webhook call as failed, and the failure
// policy of the webhook decides. A refusal is no error of the call: it is an answer with allowed set to false.
func (r *reviewREST) Create(
	ctx context.Context, object runtime.Object, _ rest.ValidateObjectFunc, _ *metav1.CreateOptions,
) (_ runtime.Object, err error) {
	done := r.measure()
	defer func() { done(err) }()
	review, ok := object.(*admissionv1.AdmissionReview)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%T is not an AdmissionReview", object))
	}
	request := review.Request
	if request == nil {
		return nil, apierrors.NewBadRequest("request: must be set")
	}
	if !r.route.covers(request) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s does not review %s of %s: correct the rules of the webhook",
			r.route.Name, request.Operation, resourceOf(request)))
	}
	attributes, err := attributesOf(request)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	response := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}
	// Plugins add warnings through the context. They belong into the answer, because the caller of this request is
	// kube-apiserver and not the user.
	ctx = warning.WithWarningRecorder(ctx, (*warnings)(response))
	judge := r.validate
	if r.route.Mutates {
		judge = func(ctx context.Context, attributes admission.Attributes) error {
			return r.mutate(ctx, attributes, response)
		}
	}
	if err := judge(ctx, attributes); err != nil {
		if !refuses(err) {
			return nil, err
		}
		response.Allowed, response.Result = false, responsewriters.ErrorToAPIStatus(err)
	}
	return &admissionv1.AdmissionReview{Response: response}, nil
}

// refuses returns true if a plugin refused the request, which is a status below 500. Other errors are internal: the
// webhook call fails, and its failure policy decides.
func refuses(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError
}

// mutate answers with the operations of the plugins that patch. After an error, there is no patch. Each plugin gets
// the original object, so a route should have only one plugin that patches.
func (r *reviewREST) mutate(ctx context.Context, attributes admission.Attributes, response *admissionv1.AdmissionResponse) error {
	if attributes.GetObject() == nil {
		return apierrors.NewBadRequest("request.object: must be set")
	}
	var operations []Operation
	for i := range r.plugins {
		plugin := &r.plugins[i]
		patcher, ok := plugin.Interface.(Patcher)
		if !ok || !plugin.Handles(attributes.GetOperation()) {
			continue
		}
		err := plugin.observe(ctx, attributes, "admit", func() error {
			added, err := patcher.Patch(ctx, attributes)
			operations = append(operations, added...)
			return err
		})
		if err != nil {
			return err
		}
	}
	changes, err := encode(operations)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if changes != nil {
		response.Patch, response.PatchType = changes, new(admissionv1.PatchTypeJSONPatch)
	}
	return nil
}

// validate runs the plugins one after the other until one refuses. The order matters: a plugin that records
// something, such as the return of a slot, comes after those that can refuse.
func (r *reviewREST) validate(ctx context.Context, attributes admission.Attributes) error {
	for i := range r.plugins {
		plugin := &r.plugins[i]
		validator, ok := plugin.Interface.(admission.ValidationInterface)
		if !ok || !plugin.Handles(attributes.GetOperation()) {
			continue
		}
		err := plugin.observe(ctx, attributes, "validate", func() error { return validator.Validate(ctx, attributes, interfaces) })
		if err != nil {
			return err
		}
	}
	return nil
}

// warnings adds the warnings of plugins to the answer. kube-apiserver forwards them to the user.
type warnings admissionv1.AdmissionResponse

// AddWarning implements warning.Recorder.
func (w *warnings) AddWarning(_, text string) { w.Warnings = append(w.Warnings, text) }
