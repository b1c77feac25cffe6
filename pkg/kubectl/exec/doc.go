// Package exec has kubectl's exec with a flag for the sidecars of hot upgrades. Enter at NewCommand.
package exec
