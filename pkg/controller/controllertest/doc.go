// Package controllertest lets the test of a controller add objects, reconcile, and compare the results.
//
// A Fixture holds fake API servers and caches. The caches are only updated by Observe, so a test decides how stale a cache is.
// Control sets the controller, and Converge reconciles until nothing more is written. Writes and Events return what the controller
// did since they were last called.
package controllertest
