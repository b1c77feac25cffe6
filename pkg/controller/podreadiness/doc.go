// Package podreadiness owns the controller that gives a Pod with the readiness gate KruisePodReady its first condition, so
// that the Pod can become ready. Who keeps a Pod out of service later writes the condition itself (package readiness).
package podreadiness
