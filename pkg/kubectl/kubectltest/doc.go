// Package kubectltest runs the plugin against an API server in memory, for tests of its commands.
//
// A Server stores objects as they are: it neither defaults nor converts them, and it answers every version of a group with the same
// fields. It understands lists, watches, the three kinds of patches, scale and dry runs. Enter at New and Run.
package kubectltest
