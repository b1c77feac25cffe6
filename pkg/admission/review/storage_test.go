package review

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
)

// judge is a plugin that records its calls.
type judge struct {
	*admission.Handler
	asked []admission.Attributes
	err   error
}

func (j *judge) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	j.asked = append(j.asked, attributes)
	warning.AddWarning(ctx, "", "mind the step")
	return j.err
}

var podRoute = Route{
	Name: "podreviews", Resources: []schema.GroupResource{{Resource: "pods"}, {Resource: "pods/eviction"}},
	Operations: []admission.Operation{admission.Create, admission.Update, admission.Delete}, Plugins: []string{"first", "absent", "second"},
}

func answer(t *testing.T, plugins Plugins, request *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	t.Helper()
	served, ok := Storage([]Route{podRoute}, plugins)["podreviews"].(*reviewREST)
	require.True(t, ok)
	result, err := served.Create(t.Context(), &admissionv1.AdmissionReview{Request: request}, nil, &metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	review, ok := result.(*admissionv1.AdmissionReview)
	require.True(t, ok)
	assert.Nil(t, review.Request)
	return review.Response, nil
}

func deletion() *admissionv1.AdmissionRequest {
	return &admissionv1.AdmissionRequest{
		UID: "u", Operation: admissionv1.Delete, Namespace: "shop", Name: "web",
		Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		OldObject: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"nodeName":"n1","new":1}}`)},
		Options:   runtime.RawExtension{Raw: []byte(`{"apiVersion":"meta.k8s.io/v1","kind":"DeleteOptions","gracePeriodSeconds":7}`)},
		DryRun:    new(true),
		UserInfo: authenticationv1.UserInfo{
			Username: "jane", UID: "7", Groups: []string{"shoppers"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}},
		},
	}
}

func TestPluginsSeeTheRequestAsInProcess(t *testing.T) {
	first := &judge{Handler: admission.NewHandler(admission.Delete)}
	response, err := answer(t, Plugins{"first": first}, deletion())
	require.NoError(t, err)
	assert.Equal(t, &admissionv1.AdmissionResponse{UID: "u", Allowed: true, Warnings: []string{"mind the step"}}, response)
	require.Len(t, first.asked, 1)
	asked := first.asked[0]
	assert.Nil(t, asked.GetObject())
	pod, ok := asked.GetOldObject().(*corev1.Pod)
	require.True(t, ok, "%T", asked.GetOldObject())
	assert.Equal(t, "n1", pod.Spec.NodeName, "fields of a newer server are no obstacle")
	assert.Equal(t, admission.Delete, asked.GetOperation())
	assert.Equal(t, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, asked.GetResource())
	assert.Equal(t, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, asked.GetKind())
	assert.Equal(t, "shop/web", asked.GetNamespace()+"/"+asked.GetName())
	assert.True(t, asked.IsDryRun())
	options, ok := asked.GetOperationOptions().(*metav1.DeleteOptions)
	require.True(t, ok)
	assert.EqualValues(t, 7, *options.GracePeriodSeconds)
	user := asked.GetUserInfo()
	assert.Equal(t, "jane", user.GetName())
	assert.Equal(t, "7", user.GetUID())
	assert.Equal(t, []string{"shoppers"}, user.GetGroups())
	assert.Equal(t, map[string][]string{"k": {"v"}}, user.GetExtra())
}

func TestObjectsWithoutATypeAndSubresources(t *testing.T) {
	first := &judge{Handler: admission.NewHandler(admission.Create)}
	request := deletion()
	request.Operation, request.SubResource, request.DryRun = admissionv1.Create, "eviction", nil
	request.Options, request.OldObject = runtime.RawExtension{}, runtime.RawExtension{}
	for want, raw := range map[runtime.Object]string{
		&policyv1.Eviction{}:         `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web"}}`,
		&unstructured.Unstructured{}: `{"apiVersion":"example.com/v1","kind":"Toy","metadata":{"name":"web"}}`,
	} {
		request.Object = runtime.RawExtension{Raw: []byte(raw)}
		_, err := answer(t, Plugins{"first": first}, request)
		require.NoError(t, err)
		asked := first.asked[len(first.asked)-1]
		assert.IsType(t, want, asked.GetObject())
		assert.Equal(t, "eviction", asked.GetSubresource())
		assert.Nil(t, asked.GetOldObject())
		assert.False(t, asked.IsDryRun())
		assert.Equal(t, &metav1.CreateOptions{}, asked.GetOperationOptions())
	}
}

func TestErrorsKeepTheirStatus(t *testing.T) {
	busy := apierrors.NewTooManyRequests("no disruption left", 5)
	tests := map[string]struct {
		first, second error
		want          metav1.Status
	}{
		"the first objects":  {busy, errors.New("not asked"), busy.ErrStatus},
		"the second objects": {nil, busy, busy.ErrStatus},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			handler := admission.NewHandler(admission.Delete)
			response, err := answer(t, Plugins{"first": &judge{handler, nil, test.first}, "second": &judge{handler, nil, test.second}}, deletion())
			require.NoError(t, err)
			assert.False(t, response.Allowed)
			assert.Equal(t, test.want.Code, response.Result.Code)
			assert.Equal(t, test.want.Reason, response.Result.Reason)
			assert.Equal(t, test.want.Message, response.Result.Message)
			assert.Equal(t, test.want.Details, response.Result.Details)
		})
	}
}

// TestInternalFailureFailsTheCall checks that an internal error fails the webhook call instead of refusing the
// request. The failure policy then decides.
func TestInternalFailureFailsTheCall(t *testing.T) {
	for name, failure := range map[string]error{
		"no status": errors.New("broken"), "503": apierrors.NewServiceUnavailable("not yet"), "500": apierrors.NewInternalError(errors.New("broken")),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := answer(t, Plugins{"first": &judge{admission.NewHandler(admission.Delete), nil, failure}}, deletion())
			assert.ErrorIs(t, err, failure)
		})
	}
}

func TestPluginIsAskedWhatItHandles(t *testing.T) {
	first := &judge{Handler: admission.NewHandler(admission.Create), err: errors.New("no")}
	response, err := answer(t, Plugins{"first": first}, deletion())
	require.NoError(t, err)
	assert.True(t, response.Allowed)
	assert.Empty(t, first.asked)
}

func TestInvalidReviewsAreRefused(t *testing.T) {
	tests := map[string]struct {
		request *admissionv1.AdmissionRequest
		change  func(*admissionv1.AdmissionRequest)
		want    string
	}{
		"no request":        {nil, nil, "request: must be set"},
		"another resource":  {deletion(), func(r *admissionv1.AdmissionRequest) { r.Resource.Resource = "nodes" }, "podreviews does not review DELETE of nodes"},
		"a subresource":     {deletion(), func(r *admissionv1.AdmissionRequest) { r.SubResource = "status" }, "pods/status: correct the rules"},
		"another operation": {deletion(), func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Connect }, "does not review CONNECT"},
		"a broken object":   {deletion(), func(r *admissionv1.AdmissionRequest) { r.OldObject.Raw = []byte("{") }, "request.oldObject"},
		"broken options":    {deletion(), func(r *admissionv1.AdmissionRequest) { r.Options.Raw = []byte("{") }, "request.options"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.change != nil {
				test.change(test.request)
			}
			_, err := answer(t, Plugins{}, test.request)
			require.ErrorContains(t, err, test.want)
			assert.True(t, apierrors.IsBadRequest(err))
		})
	}
}

// mutator is a plugin that also changes objects.
type mutator struct{ judge }

func (m *mutator) Admit(ctx context.Context, attributes admission.Attributes, o admission.ObjectInterfaces) error {
	return m.Validate(ctx, attributes, o)
}

func TestReviewsAreExemptAndNothingElse(t *testing.T) {
	inner := &mutator{judge{Handler: admission.NewHandler(admission.Create), err: errors.New("no")}}
	chain := Exempt(inner)
	validating, ok := chain.(admission.ValidationInterface)
	require.True(t, ok)
	mutating, ok := chain.(admission.MutationInterface)
	require.True(t, ok)
	for group, want := range map[string]bool{GroupName: false, "apps.kruise.io": true} {
		inner.asked = nil
		attributes := admission.NewAttributesRecord(nil, nil, Kind, "", "",
			schema.GroupVersionResource{Group: group, Version: "v1", Resource: "podreviews"}, "", admission.Create, nil, false, nil)
		assert.Equal(t, want, mutating.Admit(t.Context(), attributes, nil) != nil, group)
		assert.Equal(t, want, validating.Validate(t.Context(), attributes, nil) != nil, group)
		assert.Equal(t, want, len(inner.asked) == 2, group)
	}
	assert.True(t, chain.Handles(admission.Create))
	assert.False(t, chain.Handles(admission.Delete))
}

// annotator adds an annotation, or fails if told to.
type annotator struct {
	*admission.Handler
	key string
	err error
}

func (a *annotator) Patch(ctx context.Context, attributes admission.Attributes) ([]Operation, error) {
	pod, ok := attributes.GetObject().(*corev1.Pod)
	if !ok {
		return nil, errors.New("no Pod")
	}
	warning.AddWarning(ctx, "", "mind the step")
	if a.key == "" || pod.Annotations[a.key] == "yes" {
		return nil, a.err
	}
	return []Operation{{Op: "add", Path: "/metadata/annotations/" + a.key, Value: "yes"}}, a.err
}

// mutation sends a review to a route that changes Pods.
func mutation(t *testing.T, plugins Plugins, raw string) (*admissionv1.AdmissionResponse, error) {
	t.Helper()
	route := Route{
		Name: "podcreationreviews", Resources: podRoute.Resources, Operations: podRoute.Operations, Plugins: podRoute.Plugins, Mutates: true,
	}
	served, ok := Storage([]Route{route}, plugins)["podcreationreviews"].(*reviewREST)
	require.True(t, ok)
	request := deletion()
	request.Operation, request.Options, request.OldObject = admissionv1.Create, runtime.RawExtension{}, runtime.RawExtension{}
	request.Object.Raw = []byte(raw)
	result, err := served.Create(t.Context(), &admissionv1.AdmissionReview{Request: request}, nil, &metav1.CreateOptions{})
	if err != nil {
		assert.Nil(t, result)
		return nil, err
	}
	review, ok := result.(*admissionv1.AdmissionReview)
	require.True(t, ok)
	return review.Response, nil
}

// Cases pod-admission 7, 17.
func TestMutatingRouteAnswersWithPatch(t *testing.T) {
	const raw = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","next":1},"spec":{"containers":[]}}`
	handler := admission.NewHandler(admission.Create)
	judging := &judge{Handler: handler, err: errors.New("no")}
	busy := apierrors.NewServiceUnavailable("not yet")
	invalid := apierrors.NewBadRequest("metadata.annotations[x]: Invalid value")
	tests := map[string]struct {
		first, second admission.Interface
		raw           string
		patch         string
		refused       int32
		failed        string
	}{
		"one after the other": {
			first: &annotator{handler, "a", nil}, second: &annotator{handler, "b", nil},
			patch: `[{"op":"add","path":"/metadata/annotations/a","value":"yes"},{"op":"add","path":"/metadata/annotations/b","value":"yes"}]`,
		},
		"nothing":                      {first: &annotator{handler, "", nil}, second: &annotator{handler, "", nil}},
		"a second call":                {first: &annotator{handler, "a", nil}, raw: `{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"a":"yes"},"next":1}}`},
		"one that judges is not asked": {first: judging},
		"another operation":            {first: &annotator{admission.NewHandler(admission.Update), "a", errors.New("no")}},
		"a failure of ours":            {first: &annotator{handler, "a", nil}, second: &annotator{handler, "b", busy}, failed: "not yet"},
		"a failure without a status":   {first: &annotator{handler, "a", errors.New("broken")}, failed: "broken"},
		"a mistake of the user's":      {first: &annotator{handler, "a", nil}, second: &annotator{handler, "b", invalid}, refused: 400},
		"no object":                    {first: &annotator{handler, "a", nil}, raw: " ", refused: 400},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.raw == "" {
				test.raw = raw
			}
			plugins := Plugins{"first": test.first}
			if test.second != nil {
				plugins["second"] = test.second
			}
			response, err := mutation(t, plugins, strings.TrimSpace(test.raw))
			if test.failed != "" {
				require.ErrorContains(t, err, test.failed)
				return
			}
			require.NoError(t, err)
			if test.refused != 0 {
				assert.False(t, response.Allowed)
				assert.Equal(t, test.refused, response.Result.Code)
				assert.Nil(t, response.Patch)
				return
			}
			assert.True(t, response.Allowed)
			assert.EqualValues(t, "u", response.UID)
			if test.patch == "" {
				assert.Nil(t, response.Patch)
				assert.Nil(t, response.PatchType)
				return
			}
			assert.JSONEq(t, test.patch, string(response.Patch))
			assert.Equal(t, admissionv1.PatchTypeJSONPatch, *response.PatchType)
			assert.Equal(t, []string{"mind the step", "mind the step"}, response.Warnings)
		})
	}
}
