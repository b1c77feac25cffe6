// Package absentapi keeps programs from taking objects for deleted while their API is missing. Enter at Wrap.
package absentapi

import (
	"net/http"
	"strings"
)

// groups are the API groups that kruise-apiserver serves. The node agent does not link the package of each.
var groups = []string{"apps.kruise.io", "policy.kruise.io"}

// Wrap returns a transport that turns the answer 404 to a request for Kruise objects into 503, unless the answer is about an object. It has
// the type of a transport.WrapperFunc.
//
// While an APIService does not exist, for example because it is deleted and created again, kube-apiserver itself answers such a request, by
// a text. client-go makes the same error of it as of the answer that an object does not exist.
func Wrap(next http.RoundTripper) http.RoundTripper { return &transport{next} }

type transport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper. An answer about an object is a Status, and not a text.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusNotFound && isForObjects(request.URL.Path) &&
		strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		response.StatusCode = http.StatusServiceUnavailable
		response.Status = "503 Service Unavailable"
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport that has the connections.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// isForObjects reports whether a path is below a version of a Kruise group. The path of the version itself is discovery, where a missing
// API is an answer.
func isForObjects(path string) bool {
	for _, group := range groups {
		if _, rest, found := strings.Cut(path, "/apis/"+group+"/"); found {
			_, resource, _ := strings.Cut(rest, "/")
			return resource != ""
		}
	}
	return false
}
