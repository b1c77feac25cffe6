// Package e2e drives a real cluster as its users do: kubectl and typed clients against kube-apiserver, real kubelets and real
// containerd, with the three programs installed from the chart.
//
// The tests have the build tag e2e. "make e2e" runs them; "make test" runs them once as part of all tests. They expect
// KUBECONFIG to name a cluster where Kruise runs, and KUBECTL to name the kubectl binary; "make" sets both.
//
// Each test uses its own namespace, so tests may run in parallel. Tests that break the cluster on purpose must not call
// t.Parallel: they then run alone, before the parallel tests. Long tests of this sort also have the build tag fault, and "make
// fault" runs them.
package e2e
