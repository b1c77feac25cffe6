// Package annotation writes and reads the labels and annotations that a version uses instead of missing
// fields. Conversion shares maps between objects, so no function changes its argument.
package annotation
