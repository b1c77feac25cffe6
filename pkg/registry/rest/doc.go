// Package rest is the registry of all Kruise kinds.
//
// A kind is a value of type Kind: its names, accessors, rules and columns, and the functions for /scale if it scales. This
// package contains the behaviour that all kinds share: generations, the separation of spec and status, the fields that
// server-side apply ignores, tables, /status, /scale and the size limit. It knows no particular kind. Enter at Kind.Storage.
package rest
