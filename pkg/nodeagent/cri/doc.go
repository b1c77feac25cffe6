// Package cri finds the node's container runtimes and keeps the connections to them.
//
// It owns which sockets are looked at and in which order, what makes an endpoint usable (CRI v1 for images and for
// containers), and the readiness check of the connections. It does not own any use of a runtime: callers ask
// Runtimes for the one that they need. It never creates or removes containers or images.
// Enter at Sockets, then Detect.
package cri
