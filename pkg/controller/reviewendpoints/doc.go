// Package reviewendpoints removes Pods of the apiserver that do not work from the Service of the reviews.
//
// The Service kruise-apiserver-reviews also has the addresses of Pods that are not ready, because an apiserver whose store is closed still
// answers reviews. Without this controller, the Service would also contain Pods that are starting, that cannot start, or that are on a
// lost node. The selector of the Service contains a label, and this controller sets it: while one Pod is ready, only ready Pods get
// reviews. While none is ready, all do. New Pods have the label from the start, so the Service works without this controller.
package reviewendpoints
