package handler

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A Pod decides how much it sends, so each part of a response has a limit.
const (
	// maxBody is how many bytes of a body are read.
	maxBody = 10 << 10
	// maxHeaders is how many bytes of response headers are read.
	maxHeaders = 64 << 10
	// maxRedirects is how many redirects are followed.
	maxRedirects = 10
)

// client trusts any certificate, as the kubelet does for hooks and probes. It only talks to the Pod itself. It uses no
// proxy, because Pods are inside the cluster.
var client = &http.Client{
	CheckRedirect: sameHost,
	Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // See above.
		DialContext:     dial,
		// A connection is used once, because a probe must test that a new one can be opened.
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaders,
	},
}

// dial connects. A closed connection stays in the kernel for a second, not for a minute: many probes each second would
// otherwise use up the ports of the node.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
		err = tcp.SetLinger(1)
	}
	return conn, err
}

// sameHost follows redirects to the host that was asked, and no others. A Pod must not choose what else the agent asks: it
// runs in the network of the node, which reaches services that the Pod may not reach.
func sameHost(next *http.Request, previous []*http.Request) error {
	if next.URL.Hostname() != previous[0].URL.Hostname() {
		return http.ErrUseLastResponse
	}
	if len(previous) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	return nil
}

// get sends an HTTP request. A status from 200 to 399 is a success, also that of a redirect to another host, which is
// not followed. For a hook, any status is.
func get(ctx context.Context, target Target, action *corev1.HTTPGetAction, timeout time.Duration) Result {
	address, failure := addressOf(target, action.Host, action.Port)
	if failure != nil {
		return *failure
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := newRequest(ctx, address, target.UserAgent, action)
	if err != nil {
		return Result{Outcome: Failed, Reason: "the HTTP request is invalid", Output: Cut([]byte(err.Error()))}
	}
	response, err := client.Do(request)
	if target.Hook && errors.Is(err, http.ErrSchemeMismatch) {
		response, err = client.Do(withoutTLS(request))
	}
	if err != nil {
		return Result{Outcome: Failed, Reason: "the HTTP request failed", Output: Cut([]byte(err.Error()))}
	}
	defer response.Body.Close() //nolint:errcheck // Only its beginning is read.
	if target.Hook {
		return Result{Outcome: Succeeded}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	switch {
	case response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusBadRequest:
		reason := fmt.Sprintf("the HTTP status is %d", response.StatusCode)
		return Result{Outcome: Failed, Reason: reason, Output: fmt.Sprintf("HTTP probe failed with statuscode: %d", response.StatusCode)}
	case err != nil:
		return Result{Outcome: Failed, Reason: "the HTTP response is incomplete", Output: Cut([]byte(err.Error()))}
	case redirects(response):
		return Result{Outcome: Succeeded, Output: Cut(append([]byte("Probe terminated redirects, Response body: "), body...))}
	default:
		return Result{Outcome: Succeeded, Output: Cut(body)}
	}
}

// withoutTLS returns the request for a server that does not speak TLS. As with the kubelet, credentials are not sent without TLS.
func withoutTLS(request *http.Request) *http.Request {
	plain := request.Clone(request.Context())
	plain.URL.Scheme = "http"
	plain.Header.Del("Authorization")
	return plain
}

// redirects returns true if the response is a redirect that was not followed.
func redirects(response *http.Response) bool {
	_, err := response.Location()
	return response.StatusCode >= http.StatusMultipleChoices && !errors.Is(err, http.ErrNoLocation)
}

// newRequest returns the request with the headers of the handler. As the kubelet does, it sets the host from the
// header Host, and lets an empty header Accept remove the default.
func newRequest(ctx context.Context, address, userAgent string, action *corev1.HTTPGetAction) (*http.Request, error) {
	path, err := url.Parse(action.Path)
	if err != nil {
		path = &url.URL{Path: action.Path}
	}
	scheme := strings.ToLower(string(action.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	// The path may not name a host: only these parts of it count.
	whole := url.URL{Scheme: scheme, Host: address, Path: path.Path, RawPath: path.RawPath, RawQuery: path.RawQuery}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, whole.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	for _, header := range action.HTTPHeaders {
		if strings.EqualFold(header.Name, "Host") {
			request.Host = header.Value
			continue
		}
		request.Header.Add(header.Name, header.Value)
	}
	if _, found := request.Header["User-Agent"]; !found {
		request.Header.Set("User-Agent", userAgent)
	}
	switch accept, found := request.Header["Accept"]; {
	case !found:
		request.Header.Set("Accept", "*/*")
	case accept[0] == "":
		request.Header.Del("Accept")
	}
	return request, nil
}
