// Package initializer passes Kruise dependencies to admission plugins: a client of this API server, the Kruise
// feature gates, the namespace of the Kruise programs, the protection log, and a metadata client of the host cluster.
// The generic server passes the other clients of the host cluster itself.
//
// A plugin requests a dependency by implementing one of the interfaces. The shortest way is to embed a Given. Enter at Initializer.
package initializer
