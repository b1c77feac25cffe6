// Package scaledown has the command scaledown, which removes Pods of a CloneSet by their names. Enter at NewCommand.
package scaledown
