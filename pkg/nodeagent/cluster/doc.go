// Package cluster is the node agent's client of the API. It covers only the few kinds that the agent reads and writes.
//
// An agent runs on every node, so its memory counts. The full Kubernetes clientset registers about six hundred types
// at start, used or not, which took a sixth of the resident memory of an idle agent. The scheme in this package knows
// only the kinds below, and one generic client makes the requests. Enter at New. Sink records events, and
// ListerWatcher feeds informers. Written and Writes hold own writes until the cache shows them.
package cluster
