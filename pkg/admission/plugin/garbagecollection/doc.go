// Package garbagecollection refuses deletions by the garbage collector of Kubernetes while a Kruise object that owns the object
// exists.
//
// The garbage collector reads an owner through kube-apiserver. If the APIServices of Kruise are missing, kube-apiserver answers 404
// for every Kruise object, and the garbage collector deletes what such an object owns. This server reads the owner from its store
// instead. kube-apiserver asks by review (pkg/admission/review); if it gets no answer, it refuses too. Enter at Register.
//
// It also keeps the finalizer orphan on a Kruise object until the garbage collector has released all Kruise objects that the object owns.
package garbagecollection
