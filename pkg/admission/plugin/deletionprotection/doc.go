// Package deletionprotection refuses to delete objects whose label policy.kruise.io/delete-protection
// says so: Always, or, with Cascading, while the deletion would take something along.
//
// It owns the rule for CloneSet, StatefulSet and UnitedDeployment, which it judges in process, and the
// part of the rule that needs a look at other objects: what is in a Namespace, and the objects of a
// CustomResourceDefinition. About those kube-apiserver asks by review (pkg/admission/review). What a host
// object says by itself is a ValidatingAdmissionPolicy of the chart, which holds without this process. It
// looks at the servers and at no cache: an object created a moment ago counts. Enter at Register; the
// kinds are in kinds.go.
package deletionprotection
