// Package reconcile owns what the controllers and the node agent stand on: a queue of object names with its workers, the
// watches that fill it, logging, metrics and options.
//
// A controller is a Reconcile function with a queue in front. Construct it with New, tell it what to Watch, then Run it;
// nothing starts before Run. It knows no client and no kind of object, so it costs a program that uses few of them no more
// than the queue.
package reconcile
