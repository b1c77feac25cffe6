// Package guard prevents the server from serving an empty, outdated or foreign store. The garbage collector deletes
// every Pod whose owner returns 404, so such a store would delete the Pods of users.
//
// The store holds a record with an identity and a generation. The generation increases while there are writes. The
// cluster holds a copy of the record in a ConfigMap. If the two disagree, the guard closes: requests for Kruise
// objects return 503 until an operator decides.
//
// judge.go contains the decision as a pure function. Enter at Guard.Run.
package guard
