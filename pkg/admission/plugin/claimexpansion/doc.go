// Package claimexpansion admits larger claims of a StatefulSet only where their StorageClass can
// expand volumes. A rolling update that waits for claims to grow would otherwise never end.
//
// That claims only grow is validation's business. Classes are read live, and only when an update
// asks for more storage. Enter at Register.
package claimexpansion
