// Package ownerreferences is the admission plugin OwnerReferencesPermissionEnforcement for the
// kinds that are served here, as kube-apiserver has it for its own: whoever changes the owners of
// an object must be allowed to delete it, and whoever lets it block an owner's deletion must be
// allowed to update the owner's finalizers. It is off unless a flag enables it.
package ownerreferences
