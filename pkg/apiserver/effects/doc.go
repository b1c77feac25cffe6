// Package effects delays the answers to writes of SidecarSets until they take effect on new Pods: until the cache of this server
// shows the write, and until kube-apiserver asks about the Pods of all namespaces that the SidecarSet selects.
//
// The wait is limited, and the client is warned after it. Enter at New.
package effects
