// Package podstate owns the questions that every workload asks of one Pod: is it active, ready, available, and when will it be.
//
// All functions are pure; "now" comes from the caller. Enter at Available.
package podstate
