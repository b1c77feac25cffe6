// Package imagetag owns the rules that every requester of image pulls must share: how an image reference is split into the name
// and the tag of a NodeImage entry, which tag of a NodeImage answers a reference, and who owns that tag.
//
// All functions are pure. Enter at Parse.
package imagetag
