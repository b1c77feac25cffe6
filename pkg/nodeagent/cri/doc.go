// Package cri finds the container runtimes of the node and keeps the connections to them.
//
// It decides which sockets to try in which order, and when an endpoint is usable: it must support CRI v1 for images
// and for containers. It also provides the readiness check of the default runtime. It never creates or removes containers
// or images; callers get a runtime from Runtimes and use it themselves. Enter at Sockets, then Detect.
package cri
