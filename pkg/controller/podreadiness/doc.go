// Package podreadiness owns the controller that sets the first condition of a Pod with the readiness gate KruisePodReady, so
// that the Pod can become ready. A party that keeps a Pod out of service later writes the condition itself (package readiness).
//
// The condition is only written to a Pod that has none, and only if the Pod has not changed since it was read. So the
// controller never overwrites what another party has written.
package podreadiness
