// Package review lets kube-apiserver ask our admission plugins about objects of its own.
//
// A webhook configuration names the service kubernetes in namespace default and a path below
// /apis/admission.kruise.io/v1. kube-apiserver takes that for itself, calls with its own identity, and
// the aggregation layer carries the call to us as every other: there is no second port and no second
// certificate. Each row of a table is served as a resource that can only be created. Its body is an
// admission.k8s.io/v1 AdmissionReview; what judges it are the very plugins that judge our own kinds in
// process, called with the attributes that the review describes. Nothing is stored.
//
// It owns the form: the API group, reviews in, answers out. Who may create reviews is decided in
// pkg/apiserver/authorization, what the plugins say is theirs. Reviews are not judged themselves, or a
// user's webhook for every resource would stand between kube-apiserver and us: see Exempt. Enter at Row.
package review
