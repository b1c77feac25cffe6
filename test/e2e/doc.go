// Package e2e drives a real cluster as its users do: kubectl and typed clients against kube-apiserver, real kubelets and
// real containerd, with the three programs installed from the chart.
//
// The tests carry the build tag e2e and are run by "make e2e" and, as one pass, by "make test". They expect KUBECONFIG to
// name a cluster where Kruise runs and KUBECTL to name the kubectl binary; "make" sets both. Each test works in a
// namespace of its own, so they may run side by side; those that break the cluster on purpose are in fault_test.go
// and run alone, last.
package e2e
