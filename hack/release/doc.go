// Command release writes what a release consists of to .local/release, or with the argument "build" the programs alone to bin.
//
// A release holds for each architecture each program, its image as an OCI archive, and its list of dependencies; the chart as a
// package; and the SHA-256 sums of all of it. The same commit and toolchain give the same programs and images.
//
// The version is VERSION, or the tag of the commit when nothing is changed, or one made of the commit. RELEASE_ARCHS selects
// architectures. Enter at main.
package main
