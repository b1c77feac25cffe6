// Package ordinals computes the ordinals of the Pods of a StatefulSet, and finds them in names.
package ordinals
