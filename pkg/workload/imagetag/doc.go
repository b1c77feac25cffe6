// Package imagetag owns the rules that every requester of image pulls must share: how an image reference is split into the name
// and the tag of a NodeImage entry, which tag of a NodeImage answers a reference, and who owns that tag. It also owns the defaults of the
// limits of a pull, which the agent and the controllers must read in the same way.
//
// All functions are pure. Enter at Parse, or at LimitsOf.
package imagetag
