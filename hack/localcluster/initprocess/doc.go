// Command initprocess is process 1 of the namespaces of a local cluster, and starts programs in them.
//
// "hold <dir> <name>" reaps orphaned processes and exits on SIGTERM. The kernel then ends all processes in the namespaces.
// "spawn <program> <arguments>…" must run inside those namespaces. It starts the program in a new session and exits, so that
// the program becomes a child of process 1. The caller may then exit, and no process of the host has to reap the program.
package main
