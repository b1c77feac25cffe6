// Package integration tests the apiserver with a real etcd, kube-apiserver and kube-controller-manager, mostly through the
// aggregation layer, as users do.
//
// TestMain starts one cluster without nodes and one apiserver with the embedded store, with the service account and the rules of
// the chart. All tests share both, and each test has its own namespace. TestConformance tests every registered kind like a built-in
// kind. Run with
//
//	go test -tags integration ./test/integration/
package integration
