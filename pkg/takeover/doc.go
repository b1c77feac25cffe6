// Package takeover moves the Kruise API of a cluster from CustomResourceDefinitions to kruise-apiserver, and back, without a new UID and
// without a deletion that any client sees. docs/design/0024-takeover.md explains the order of the steps.
//
// Start reading at Takeover.Forward. Each step can be repeated and interrupted; a ConfigMap records the last one that is complete.
package takeover
