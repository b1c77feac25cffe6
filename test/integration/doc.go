// Package integration runs the apiserver beside a real etcd, kube-apiserver and
// kube-controller-manager, and looks at it as users do: through the aggregation layer.
//
// TestMain starts one cluster without nodes and one apiserver with the embedded store, under the
// service account and the rules of the chart. Tests share both and each works in a namespace of
// its own; those that stop a server start one for themselves. TestConformance does with every
// registered kind what users do with a built-in one. Run with
//
//	go test -tags integration ./test/integration/
package integration
