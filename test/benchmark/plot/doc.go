// Command plot draws the figures that the benchmark has written to a directory, as one SVG file for each chart. The same figures give
// the same files.
//
//	go run . ../../../docs/scale
package main
