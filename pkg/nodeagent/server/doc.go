// Package server serves health, readiness and metrics of the node agent, and profiles if they are enabled.
//
// It owns the addresses and the form of the answers. Callers pass in the named checks. Enter at New. Listen opens the
// address, so that a second agent on the host network fails immediately. Run serves.
package server
