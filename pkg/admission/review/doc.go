// Package review lets kube-apiserver call the admission plugins of this server for objects that kube-apiserver stores.
//
// A webhook configuration names the service kubernetes in the namespace default and a path below
// /apis/admission.kruise.io/v1. kube-apiserver sends the call to itself with its own identity, and the aggregation layer
// forwards it to this server. So no second port and no second certificate is needed. Each Route is served as a
// resource that supports only create. Its body is an admission.k8s.io/v1 AdmissionReview. The same plugins that check
// Kruise kinds in process check the review, with the attributes that the review describes. Nothing is stored.
//
// The package owns the API group and the format of reviews and answers. pkg/apiserver/authorization decides who may
// create reviews, and the plugins decide the result. Admission does not run on reviews themselves. Otherwise a user's
// webhook for all resources would come between kube-apiserver and this server: see Exempt. Enter at Route.
package review
