// Command pause holds namespaces open: as process 1 it reaps the children that fall to it, and it exits on SIGTERM or SIGINT.
// It is the sandbox image kruise.local/pause and the init process of the local cluster's namespaces.
// Its arguments are ignored; they tell a reader of the process list what it holds.
package main
