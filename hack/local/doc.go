// Command local implements the cluster targets of the Makefile: up, down, deploy, images, binaries and component.
//
// It connects three independent parts: hack/localcluster runs Kubernetes, hack/images builds the images of the
// programs, and the chart in artifacts/helm/kruise installs them.
package main
