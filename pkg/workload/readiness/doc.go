// Package readiness owns the condition KruisePodReady: a readiness gate by which several parties keep a Pod out of service at
// the same time, each under a key of its own. The Pod is back when the last key is gone.
//
// It changes objects that the caller owns and writes nothing. The keys stand together in the condition's message, so a write
// of theirs must be refused when the Pod changed meanwhile, or a key of another party would be lost. Enter at Add and Remove.
package readiness
