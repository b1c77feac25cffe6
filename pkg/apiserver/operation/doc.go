// Package operation does with a store what its operator asks for: take a snapshot, copy it to another etcd, write all objects with
// the current encryption key, and defragment it.
//
// It works on the keys of etcd and does not need a running server. It writes the record of an incomplete import or copy, and advances the
// generation of the record, so that the guard (pkg/apiserver/guard) recognizes the older of two stores. Enter at Snapshot, Copy,
// Encrypt and Defragment.
package operation
