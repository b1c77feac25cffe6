// Package store runs an embedded etcd if the administrator configures no external one.
//
// It owns the data directory: its lock, its mode, and the unix socket, which is the only way to reach the etcd
// member. It does not own the stored objects or an external etcd. Enter at Start.
package store
