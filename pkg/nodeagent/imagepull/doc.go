// Package imagepull pulls the images that the node's NodeImage asks for, and reports how far each is.
//
// It owns the one place on the node where that is decided: which pulls begin and end (reconcile), the attempts of one pull
// (pull), what a failure is called (failure.go), and the status of the NodeImage, of which it is the writer while a pull
// runs. Progress within a pull it does not know, because CRI does not tell: a report has 0 or 100, and since when.
// It neither removes images nor decides which ones are wanted. All that it must remember is in the NodeImage: what has a
// completion time for its version is never pulled again, whatever restarts. Enter at New.
package imagepull
