// Package imagepull owns what everybody who asks nodes for images must agree on: how a reference is cut into the name and the
// tag of a NodeImage's entry, which tag of a NodeImage answers it, and who owns that tag.
//
// All functions are pure. Enter at Parse.
package imagepull
