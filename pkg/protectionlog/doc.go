// Package protectionlog logs the refusals of protections, one JSON object per line.
//
// It writes the file protection.log, whose fields tools read. It does not rotate the file. If the directory is not
// writable, as in a container with a read-only root, it writes to standard output. Plugins get the log from
// pkg/admission/initializer, and controllers from controller.Deps. Enter at Open.
package protectionlog
