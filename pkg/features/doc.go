// Package features owns the feature gates: their names, their defaults and why, and which gate forces which.
//
// A gate is an instance made by New, never a global; programs hand it to what reads it. Enter at the table in gates.go.
// After the flags are parsed, Cascade applies what gates force upon each other.
package features
