// Package protectionlog writes down what protections refused: one JSON object in a line.
//
// It owns the file protection.log, whose fields tools read. It does not rotate it. Without a directory
// that can be written to it writes to standard output, as a container with a read-only root does. Plugins
// get it from pkg/admission/initializer. Enter at Open.
package protectionlog
