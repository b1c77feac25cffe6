// Package ownerreferences is the admission plugin OwnerReferencesPermissionEnforcement for the kinds that this server
// serves. It has the same rules as in kube-apiserver. A user who changes the owners of an object must be allowed to
// delete the object. A user who sets blockOwnerDeletion must be allowed to update the finalizers of the owner. The
// plugin is off unless a flag enables it.
package ownerreferences
