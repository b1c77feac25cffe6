// Package certificates gives the apiserver a serving certificate without anybody's help.
//
// It owns one Secret, shared by all replicas: an authority of its own and a serving pair signed by
// it. Both are renewed before they expire, while the server runs, and the authorities' certificates
// are kept in the caBundle of the APIServices through which kube-apiserver reaches us. The order is
// what matters: a new authority is published, beside the one it replaces, before anything that it
// signed is served. Replicas agree through the Secret's resourceVersion.
//
// material.go holds what is in the Secret, next.go decides what changes in it and when (a pure
// function of the time), manager.go writes, publishes and serves. Certificates from files are not
// its business. Enter at New.
package certificates
