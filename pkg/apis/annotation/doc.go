// Package annotation writes and reads the labels and annotations with which a version says what it
// has no field for. Conversion shares maps between objects, so no function changes the one that
// it is given.
package annotation
