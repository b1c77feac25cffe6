// Package consistency keeps a controller from acting on a cache that has not seen the controller's own writes.
//
// After each write the controller records, for the owner it reconciles, the resourceVersion that the server returned
// (Guard.Wrote) or the object that it deleted (Guard.Deleted). Before the next reconcile of that owner, Guard.Wait compares
// with what the informer's store has reached. Versions are compared within one resource only: resources of two API servers
// come from two stores, and their versions have nothing to do with each other.
//
// A record is dropped when the store has caught up, when the owner is forgotten, or when the server says that the write is
// undone: its own version is older than the write, or the deleted object is there again. That is a server whose data was
// restored from a backup, and its caches may never show the write. The server is asked when nothing was written for the
// timeout. A cache that is merely late is waited for as long as it takes.
//
// Wrote and Deleted are safe for concurrent use. Wait and Forget are called by the one worker that has the owner's key.
//
// client-go says what version a store has reached only while its feature AtomicFIFO is on; see Supported.
package consistency
