// Package controller owns the skeleton on which every controller of ours stands: the queue of package reconcile, what the
// program gives to each constructor, indexes of informers, and what they trim.
//
// A controller is a Reconcile function with a queue in front. Construct it with New, tell it what to Watch, then Run it;
// nothing starts before Run. The example test of this package is a whole controller and the one to copy.
//
// Two API servers stand behind one kubeconfig, each with resourceVersions of its own: a version of a Pod says nothing about a
// version of a CloneSet. Package consistency keeps them apart, and is what makes acting on a stale cache impossible.
package controller
