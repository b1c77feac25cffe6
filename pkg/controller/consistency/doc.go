// Package consistency keeps a controller from acting on a cache that has not seen the controller's own writes.
//
// After each write, the controller records for the owner that it reconciles either the resourceVersion that the server returned
// (Guard.Wrote) or the object that it deleted (Guard.Deleted). Before the next reconcile of that owner, Guard.Wait compares the
// records with the state of the informer's store. Versions are compared within one resource only: resources of two API servers
// come from two stores, and their versions are unrelated.
//
// A record is dropped when the store has caught up, when the owner is forgotten, or when the server reports that the write is
// undone. A write is undone if the server's own version is older than the write, or if the deleted object exists again. This
// happens when a server's data was restored from a backup; the caches may then never show the write. The server is asked when
// nothing was written for the timeout. If the cache is only late, Wait waits as long as it takes.
//
// Wrote, Deleted and Forget are safe for concurrent use. Only the worker that holds the owner's key may call Wait.
//
// client-go reports the version that a store has reached only while its feature AtomicFIFO is on; see Supported.
package consistency
