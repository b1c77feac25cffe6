// Package integration tests the apiserver with a real etcd, kube-apiserver and kube-controller-manager, mostly through the
// aggregation layer, as users do.
//
// TestMain starts one cluster without nodes and one apiserver with the embedded store, with the service account and the rules of
// the chart. All tests share both, and each test has its own namespace. TestConformance tests every registered kind like a built-in
// kind. Run with
//
//	hack/test-integration.sh [go test flags]
//
// Tests run at the same time, because most of their time is waiting. Objects without a namespace have unique names, and nobody counts
// what the whole cluster does. A test that stops the shared server, changes what all tests use or measures time is not parallel, and
// its comment says why. Go runs these tests first, one after the other.
package integration
