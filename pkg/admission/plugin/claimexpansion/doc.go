// Package claimexpansion allows other sizes of volume claims in a StatefulSet only if their StorageClass can expand
// volumes. Otherwise a rolling update would wait forever for the claims to grow.
//
// A smaller size is a way back from a larger one: claims that grew stay as they are, and the others grow with the next
// larger size, so the same classes apply. The plugin reads StorageClasses live, and only if an update changes a size and
// the feature gate StatefulSetAutoResizePVCGate is enabled. Enter at Register.
package claimexpansion
