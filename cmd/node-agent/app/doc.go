// Package app converts the flags and environment of the node agent to a running process.
//
// It defines and validates the flags, and it defines the order of start and stop. Options become a Config, and Run
// runs the Config. The work of the agent is in pkg/nodeagent. Enter at NewCommand.
package app
