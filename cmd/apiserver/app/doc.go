// Package app makes the program apiserver of its packages.
//
// options.go and its neighbours hold the flags and what is wrong with them, config.go turns them
// into an apiserver.Config, run.go runs what has to run. What the flags configure is elsewhere:
// the server in pkg/apiserver, its store, certificates and authorization in packages below it.
// Enter at NewCommand.
package app
