// Package consistency keeps a controller from acting on a cache that has not seen the controller's own writes.
//
// After each write the controller records, for the owner it reconciles, the resourceVersion that the server returned
// (Guard.Wrote) or the object that it deleted (Guard.Deleted). Before the next reconcile of that owner, Guard.Ready compares
// with what the informer's store has reached. Versions are compared within one resource only: resources of two API servers
// come from two stores, and their versions have nothing to do with each other.
//
// A record is dropped when the store has caught up, when the owner is forgotten, or after the timeout: a store that was
// rolled back never catches up, and a controller must not wait for it for ever.
//
// Wrote and Deleted are safe for concurrent use. Ready and Forget are called by the one worker that has the owner's key.
package consistency
