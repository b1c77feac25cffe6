// Package cluster is the node agent's client of the API: the few kinds that it reads and writes, and no others.
//
// An agent runs on every node. The clientset of all of Kubernetes registers some six hundred types when a program starts,
// whether it uses them or not; of an idle agent that was a sixth of what is resident. Here a scheme knows the kinds below,
// and requests are made by one generic client. Enter at New; Sink takes events, ListerWatcher feeds informers.
package cluster
