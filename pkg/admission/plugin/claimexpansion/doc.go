// Package claimexpansion allows larger volume claims in a StatefulSet only if their StorageClass can expand volumes.
// Otherwise a rolling update would wait forever for the claims to grow.
//
// Validation makes sure that claims do not shrink. The plugin reads StorageClasses live, and only if an update
// requests more storage. Enter at Register.
package claimexpansion
