// Command release writes a release to .local/release. With the argument "build" it only writes the programs, to bin.
//
// For each architecture, a release contains each program, its image as an OCI archive, and its list of dependencies. It also
// contains the packaged chart and the SHA-256 sums of all files. The same commit and toolchain give the same programs and images.
//
// The version is VERSION, or the tag of the commit if the checkout is unchanged, or a version that is derived from
// the commit. RELEASE_ARCHS selects architectures. Enter at main.
package main
