// Command local is what the Makefile's targets for a cluster call: up, down, deploy, images, binaries and component.
//
// It joins three packages that do not know each other: hack/localcluster runs Kubernetes, hack/images makes the images of the
// project's programs, and the chart in artifacts/helm/kruise installs them.
package main
