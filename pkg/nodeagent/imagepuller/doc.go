// Package imagepuller pulls the images that the NodeImage of the node lists, and reports the progress.
//
// It decides which pulls start and stop (reconcile), makes the attempts of a pull (pull), and translates runtime
// errors into messages (failure.go). It writes the status of the NodeImage while a pull runs. CRI reports no progress
// within a pull, so the progress is 0 or 100, together with the start time. The package does not remove images and
// does not decide which images are wanted.
//
// All durable state is in the NodeImage. A tag that has a completion time for its version is never pulled again,
// whatever restarts. Enter at New.
package imagepuller
