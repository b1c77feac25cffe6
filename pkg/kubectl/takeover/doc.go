// Package takeover is the command `kubectl kruise takeover`. pkg/takeover has its steps; this package runs the commands of the store in
// the container of kruise-apiserver.
package takeover
