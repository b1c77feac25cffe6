// Command pause is the program of the sandbox image kruise.local/pause: it holds a Pod's namespaces open, reaps the children that
// fall to it when it is process 1 of them, and exits on SIGTERM or SIGINT.
package main
