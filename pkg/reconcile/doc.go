// Package reconcile owns what the controllers and the node agent share: a queue of object names with its workers, the watches
// that fill it, logging, metrics and options.
//
// A controller is a Reconcile function with a queue in front. Construct it with New, tell it what to Watch, then Run it; nothing
// starts before Run. The package imports no client and no kind of object, so a program that uses few of them pays only for the
// queue.
package reconcile
