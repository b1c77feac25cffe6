// Package gated stands between the registry and the store. It opens each kind's storage once the store may be used, which may be
// long after the server serves, and lets no request pass while the gate is closed: neither to the watch caches nor to etcd.
//
// It does not decide when the gate is open (pkg/apiserver/guard does). Enter at New.
package gated
