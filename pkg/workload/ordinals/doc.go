// Package ordinals computes the ordinals of the Pods of a StatefulSet, and finds them in names.
//
// Ordinals begin at the start of the set, and reserved ones are left out. All functions are pure. Enter at SpecOf and InRange.
package ordinals
