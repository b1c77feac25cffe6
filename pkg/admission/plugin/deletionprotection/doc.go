// Package deletionprotection refuses to delete objects that have the label policy.kruise.io/delete-protection. The
// value Always refuses every deletion. The value Cascading refuses a deletion that would also delete contained objects.
//
// The package checks CloneSet, StatefulSet and UnitedDeployment in process. It also checks Namespace and
// CustomResourceDefinition, which need a look at other objects; kube-apiserver asks about those two by review
// (pkg/admission/review). Rules that only need the host object itself are in a ValidatingAdmissionPolicy of the
// chart, which also works while this process is down. All lookups are live, because an object that was created a
// moment ago counts. Enter at Register. The kinds are in kinds.go.
package deletionprotection
