package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
)

// newer is the version that commands use, and older is the one that CustomResourceDefinitions of OpenKruise serve instead for many kinds.
var newer, older = v1beta1.SchemeGroupVersion.Version, v1alpha1.SchemeGroupVersion.Version

// Older makes clients work with a server that has the kinds of Kruise as CustomResourceDefinitions of OpenKruise. A request for a resource
// that is served only in v1alpha1 is sent in that version, and objects are converted in both directions. A strategic merge patch, which no
// CustomResourceDefinition accepts, becomes a merge patch. Only a request that was refused costs another one, and after that, the clients
// know. The zero value is ready to use, for several clients at once.
type Older struct {
	lock sync.Mutex
	// resources are those that are served only in v1alpha1.
	resources map[schema.GroupResource]bool
}

// Wrap returns the transport of a client. It is a transport.WrapperFunc.
func (o *Older) Wrap(next http.RoundTripper) http.RoundTripper {
	return &transport{older: o, next: next}
}

type transport struct {
	older *Older
	next  http.RoundTripper
}

// call is a request for a resource of Kruise. Its body was read, so that it can be sent again.
type call struct {
	*http.Request
	body []byte
	schema.GroupVersionResource
	// name and subresource are those of the object, or empty.
	name, subresource string
	// prefix and suffix are the path around the version.
	prefix, suffix string
}

// callOf returns nil for any other request.
func callOf(request *http.Request) (*call, error) {
	for _, group := range []string{v1beta1.SchemeGroupVersion.Group, policyv1beta1.SchemeGroupVersion.Group} {
		// A server can be below another path.
		before, path, found := strings.Cut(request.URL.Path, "/apis/"+group+"/")
		parts := strings.Split(path, "/")
		if !found || len(parts) < 2 || parts[1] == "" {
			continue
		}
		c := &call{Request: request, prefix: before + "/apis/" + group + "/", suffix: strings.TrimPrefix(path, parts[0])}
		rest := parts[1:]
		if rest[0] == "namespaces" && len(rest) > 2 {
			rest = rest[2:]
		}
		c.GroupVersionResource = schema.GroupVersionResource{Group: group, Version: parts[0], Resource: rest[0]}
		if len(rest) > 1 {
			c.name = rest[1]
		}
		if len(rest) > 2 {
			c.subresource = rest[2]
		}
		if request.Body == nil {
			return c, nil
		}
		var err error
		c.body, err = io.ReadAll(request.Body)
		_ = request.Body.Close()
		return c, err
	}
	return nil, nil
}

// is reports whether the call is a patch of one of the types. A content type can have parameters.
func (c *call) is(kinds ...types.PatchType) bool {
	form, _, _ := strings.Cut(c.Header.Get("Content-Type"), ";")
	return c.Method == http.MethodPatch && slices.Contains(kinds, types.PatchType(form))
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	c, err := callOf(request)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the body of a request: %w", err)
	case c == nil:
		return t.next.RoundTrip(request)
	case c.Version == newer && t.older.has(c.GroupResource()):
		return t.inOlder(c)
	}
	response, err := t.send(c, c.Method, c.Version, c.body)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusNotFound && c.Version == newer:
		return t.notFound(c, response)
	case response.StatusCode == http.StatusUnsupportedMediaType && c.is(types.StrategicMergePatchType):
		discard(response)
		return t.patch(c, c.Version)
	}
	return response, nil
}

// notFound answers a call that was answered with 404, because of the object, or because of the version.
func (t *transport) notFound(c *call, response *http.Response) (*http.Response, error) {
	served := map[string]bool{}
	for _, version := range []string{newer, older} {
		found, err := t.serves(c, version)
		if err != nil || found && version == newer {
			// Discovery that fails says nothing, and the answer is better than its error.
			return response, nil //nolint:nilerr // See above.
		}
		served[version] = found
	}
	discard(response)
	if !served[older] {
		return statusOf(c, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf(
			"the cluster does not serve %s: install Kruise, or a release of OpenKruise that has the kind", c.GroupResource())), nil
	}
	t.older.add(c.GroupResource())
	return t.inOlder(c)
}

// serves asks the discovery of a version for the resource of the call. The request has the credentials of the call.
func (t *transport) serves(c *call, version string) (bool, error) {
	discovery := &call{Request: c.Clone(c.Context()), prefix: c.prefix}
	discovery.URL.RawQuery = ""
	discovery.Header.Set("Accept", "application/json")
	response, err := t.send(discovery, http.MethodGet, version, nil)
	if err != nil {
		return false, err
	}
	defer discard(response)
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return false, nil
	default:
		return false, fmt.Errorf("read the resources of %s/%s: HTTP %d", c.Group, version, response.StatusCode)
	}
	list := &metav1.APIResourceList{}
	if err := json.NewDecoder(response.Body).Decode(list); err != nil {
		return false, fmt.Errorf("read the resources of %s/%s: %w", c.Group, version, err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == c.Resource }), nil
}

func (o *Older) has(resource schema.GroupResource) bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.resources[resource]
}

// add copies the map, so that the zero value can be used.
func (o *Older) add(resource schema.GroupResource) {
	o.lock.Lock()
	defer o.lock.Unlock()
	resources := map[schema.GroupResource]bool{resource: true}
	maps.Copy(resources, o.resources)
	o.resources = resources
}

// inOlder sends a call in v1alpha1, and returns the answer in v1beta1. Objects of other groups, such as those of /scale, are the same in
// both. A patch of them needs no conversion either.
func (t *transport) inOlder(c *call) (*http.Response, error) {
	if c.is(types.MergePatchType, types.JSONPatchType, types.StrategicMergePatchType) && c.subresource != "scale" {
		return t.patch(c, older)
	}
	body := c.body
	// The body of a deletion has options.
	if len(body) > 0 && (c.Method == http.MethodPost || c.Method == http.MethodPut) {
		var err error
		if body, err = convert(body, older); err != nil {
			return nil, err
		}
	}
	response, err := t.send(c, c.Method, older, body)
	if err != nil {
		return nil, err
	}
	if c.Method == http.MethodGet && isWatch(c.Request) && response.StatusCode == http.StatusOK {
		response.Body = convertEvents(response.Body)
		return response, nil
	}
	return inVersion(response, newer)
}

// isWatch reports whether the answer is a stream of events.
func isWatch(request *http.Request) bool {
	watch, _ := strconv.ParseBool(request.URL.Query().Get("watch"))
	return watch
}

// inVersion converts the object in an answer.
func inVersion(response *http.Response, version string) (*http.Response, error) {
	data, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	if data, err = convert(data, version); err != nil {
		return nil, err
	}
	setBody(response, data)
	return response, nil
}

// send sends a call with another method, version and body.
func (t *transport) send(c *call, method, version string, body []byte) (*http.Response, error) {
	request := c.Clone(c.Context())
	request.Method = method
	request.URL.Path, request.URL.RawPath = c.prefix+version+c.suffix, ""
	request.Body, request.ContentLength, request.GetBody = nil, int64(len(body)), nil
	if len(body) > 0 {
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	return t.next.RoundTrip(request)
}

// discard closes an answer that nobody reads. The connection can be used again once the answer was read.
func discard(response *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	_ = response.Body.Close()
}

// setBody replaces the body of an answer.
func setBody(response *http.Response, data []byte) {
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	response.Header.Set("Content-Length", strconv.Itoa(len(data)))
}

// statusOf returns an answer with an error in the form of the API.
func statusOf(c *call, code int, reason metav1.StatusReason, message string) *http.Response {
	response := &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: c.Request,
		Header: http.Header{"Content-Type": {"application/json"}},
	}
	// A status has no field that cannot be encoded.
	data, _ := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason,
		Message: message,
	})
	setBody(response, data)
	return response
}
