// Package effects makes writes of SidecarSets and of other kinds take effect on new Pods before they are answered.
//
// Effects delays the answer until the cache of this server shows the write, and until kube-apiserver asks about the Pods of all namespaces
// that the object concerns; it removes the labels of those that are left out. Current makes a review of a new Pod wait until the cache
// shows what other servers have answered. Both waits are limited. kinds.go lists the kinds. docs/design/0028-writes-in-force.md says why.
// Enter at New and NewCurrent.
package effects
