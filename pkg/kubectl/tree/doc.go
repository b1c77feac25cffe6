// Package tree has the command get tree: a workload with its revisions, their Pods and the claims of the Pods. Render is a pure function
// of what was read. Enter at NewCommand.
package tree
