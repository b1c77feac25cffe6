// Package podcreation labels the namespaces in which no object of ours changes new Pods, so that the webhook for new Pods leaves them
// out. A SidecarSet, a PersistentPodState and a WorkloadSpread change new Pods.
//
// A namespace that has the label by mistake gets Pods without the changes. So the controller removes the label as soon as its caches
// show such an object, and asks the server before it adds the label.
package podcreation
