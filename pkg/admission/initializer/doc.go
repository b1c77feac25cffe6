// Package initializer hands admission plugins what is ours: a client of our own API, the Kruise
// feature gates, the namespace that the programs run in and the protection log; and a client of the
// host cluster's metadata. What else belongs to the host cluster, the generic server hands them itself.
//
// A plugin asks by implementing one of the interfaces, most simply by embedding a Given. Enter at Initializer.
package initializer
