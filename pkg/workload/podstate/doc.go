// Package podstate answers the questions that every workload asks about one Pod: is it active, ready, available, and when will
// it be available.
//
// All functions are pure; the caller passes the current time. Enter at Available.
package podstate
