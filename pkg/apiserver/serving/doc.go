// Package serving serves requests, and ends connections without losing one.
//
// The generic server ends an HTTP/2 connection by one GOAWAY frame that names the last request which it still answers. Requests that
// are on their way at that moment are lost, and the proxy of kube-apiserver cannot repeat those with a body: a client sees a failed
// write for each of them. RFC 9113, section 6.8, therefore lets a server announce the end first, by a GOAWAY frame that names no
// request. The client then sends new requests over a new connection, which reaches another replica. The library does not send this
// frame, so this package does.
//
// It takes the listener over from the generic server, and has no part in anything else. Enter at Take.
package serving
