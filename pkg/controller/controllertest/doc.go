// Package controllertest lets a controller's test put objects in, reconcile, and compare what came out.
//
// A Fixture holds fake API servers and caches that see them only when told to (Observe), so a test decides how stale a cache
// is. Writes and Events return what a controller did since they were last asked.
package controllertest
