// Package jobsidecarterminator owns the controller that ends the sidecars of finished jobs. Pods that run to their end never
// finish while a sidecar runs. Containers are marked as sidecars by environment variables. When all other containers of the Pod
// are done, the controller stops the sidecars: with a ContainerRecreateRequest on nodes with a node agent, and by an image that
// exits at once on virtual nodes.
//
// Restartable init containers are ended by the kubelet, and are not looked at.
//
// A pass reads the Pod and its node (sidecars.go), and makes the next step (reconcile.go). The request and the status of the Pod
// hold all state except the back-off of retries. Only Pods with such a variable enter the queue. Enter at New and Reconcile.
package jobsidecarterminator
