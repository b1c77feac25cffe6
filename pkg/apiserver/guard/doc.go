// Package guard keeps an empty, older or foreign store from being served. The garbage collector deletes every Pod whose owner
// answers 404, so such a store would cost users their Pods.
//
// The store holds a record: an identity, and a generation that advances while there are writes. The cluster holds a copy in a
// ConfigMap. Where the two disagree the guard closes: everything of our groups answers 503 until an operator says otherwise.
//
// judge.go decides and does nothing else. Enter at Guard.Run.
package guard
