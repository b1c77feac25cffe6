// Package gated stands between the registry and the store. It opens the storage of each kind once the store may be used,
// which can be long after the server has started. While the gate is closed, no request reaches the watch caches or etcd.
//
// pkg/apiserver/guard decides when the gate is open. Enter at New.
package gated
