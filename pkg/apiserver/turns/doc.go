// Package turns orders writes that must not happen at the same time, among all servers that share a store. A set of objects whose writes
// wait for each other is all objects of a kind, or those of a kind in one namespace.
//
// A turn is a lock in etcd: a key with the lease of the server, which it gets for its first turn and renews until it ends. Requests that
// wait in one server hand the lock to each other for up to a second, so that many writes at once need few locks. If a server ends in its
// turn, its lease expires and the next one gets its turn. A turn that lasts too long ends too. If a server loses its lease, the context of
// its turn ends before another one can get a turn. Enter at New.
package turns
