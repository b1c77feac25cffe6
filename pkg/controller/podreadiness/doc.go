// Package podreadiness owns the controller that sets the first condition of a Pod with the readiness gate KruisePodReady, so
// that the Pod can become ready. A party that keeps a Pod out of service later writes the condition itself (package readiness).
package podreadiness
