// Package app turns the node agent's flags and environment into a running process.
//
// It owns the flags, their validation, and the order of start and stop: Options become a Config, and Run runs it.
// What the agent does is in pkg/nodeagent. Enter at NewCommand.
package app
