// Package effects delays the answers to writes of SidecarSets and of other kinds until they take effect on new Pods: until the cache of
// this server shows the write, and until kube-apiserver asks about the Pods of all namespaces that the object concerns.
//
// The wait is limited, and the client is warned after it. kinds.go lists the kinds. Enter at New.
package effects
