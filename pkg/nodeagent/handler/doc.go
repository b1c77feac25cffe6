// Package handler runs the handlers that hooks and probes share: commands in containers, HTTP requests and TCP connections.
//
// It decides what counts as success, and how much of the output is kept. Output is cut before it is formatted, because the
// owner of a Pod decides how long it is. Callers decide what to run, when, and how many at once. Enter at Run.
package handler
