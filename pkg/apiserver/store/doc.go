// Package store runs the apiserver's own etcd when no other one is given.
//
// It owns the data directory: its lock, its mode, and the unix socket through which alone the
// etcd member is reachable. It does not own what is stored there, nor an external etcd.
// Enter at Start.
package store
