// Command release writes a release to .local/release. With the argument "build" it only writes the programs, to bin.
//
// For each architecture, a release contains each program, its image as an OCI archive, and its list of dependencies, and the
// plugin of kubectl for Linux, macOS and Windows in the archives that krew installs. If RELEASE_URL is the address from which users
// download the files, it contains the manifest for krew. It also contains the packaged chart and the SHA-256 sums of all files. The
// same commit and toolchain give the same programs and images.
//
// The version is VERSION, or the tag of the commit if the checkout is unchanged, or a version that is derived from the commit.
// RELEASE_ARCHS selects architectures, and RELEASE_SYSTEMS the operating systems of the plugin. Enter at main.
package main
