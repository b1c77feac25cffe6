// Package controller owns the skeleton of every controller: the queue of package reconcile, the dependencies that the program
// passes to each constructor, the indexes of informers, and the transform that trims cached objects.
//
// A controller is a Reconcile function with a queue in front. A constructor begins with For, says what the controller Owns
// and Watches, and ends with Build. Nothing starts before the program calls Run. The example test of this package is a
// complete controller and the one to copy.
//
// One kubeconfig leads to two API servers. Each has its own resourceVersions: the version of a Pod says nothing about the
// version of a CloneSet. Package consistency keeps them apart, and prevents a controller from acting on a stale cache.
package controller
