// Package app builds the program apiserver from its packages.
//
// options.go and the files named options_*.go define and validate the flags. config.go converts them to an
// apiserver.Config. run.go runs the server. The flags configure other packages: the server is in pkg/apiserver, and
// its store, certificates and authorization are in packages below that. Enter at NewCommand.
package app
