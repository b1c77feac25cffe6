// Package server serves the node agent's health, readiness, metrics and, when asked for, profiles.
//
// It owns the addresses and the form of the answers. It does not know what is checked: callers hand in named checks.
// Enter at New; Listen takes the address, so that a second agent on the host's network fails at once, and Run serves.
package server
