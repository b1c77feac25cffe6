// Package figures holds measured values by the number of objects, and says how fast each value grows with that number. The benchmark
// writes them to a file, and test/benchmark/plot draws the file.
package figures
