// Package initializer hands admission plugins what is ours: a client of our own API, the Kruise
// feature gates and the namespace that the programs run in. What belongs to the host cluster, the
// generic server hands them itself.
//
// A plugin asks by implementing one of the interfaces, most simply by embedding a Given. Enter at New.
package initializer
