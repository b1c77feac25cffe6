// Command initprocess is process 1 of a local cluster's namespaces, and starts programs there as its children.
//
// With "hold <dir> <name>" it reaps what falls to it and exits on SIGTERM; the kernel then ends everything in its namespaces.
// With "spawn <program> <arguments>…", run inside those namespaces, it starts the program in a session of its own and exits, so that
// the program becomes a child of process 1 there: whoever asked may end, and no process of the host has to reap it.
package main
