// Package readiness owns the condition KruisePodReady, which is a readiness gate. Several parties use it to keep a Pod out of
// service at the same time, each under its own key. The Pod is back in service when the last key is removed.
//
// The package changes objects that the caller owns; it makes no API requests. All keys are stored in the condition's message. A
// write of a key must therefore be rejected if the Pod changed meanwhile; otherwise it could remove another party's key. Enter
// at Add and Remove.
package readiness
