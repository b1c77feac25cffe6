// Package takeover moves the Kruise API of a cluster from CustomResourceDefinitions to kruise-apiserver, and back, without a new UID and
// without a deletion that any client sees. docs/design/0024-takeover.md explains the order of the steps.
//
// There are three sequences of steps. forwardSteps copies the objects into the store of kruise-apiserver and makes kube-apiserver forward
// the API there. backSteps undoes this, with all changes that clients made since. finishSteps deletes the CustomResourceDefinitions, and
// after it there is no way back.
//
// At each moment, at most one of the two APIs accepts writes of clients. The API answers 503 between the steps "switch" and "open", and
// between "suspend" and "handback". In these times the garbage collector cannot read an owner of a Kruise kind, so it does
// not delete its dependents.
//
// The old objects stay in the etcd of kube-apiserver until finishSteps. From the step "close" on, this package reads and writes
// them by the version "takeover" of their definitions, which no other client knows.
//
// What OpenKruise has installed beside its definitions is one list, Takeover.installed. Its objects leave in an order in which no webhook
// stays that nobody answers, and return in the opposite order.
//
// Start reading at Takeover.Forward. Each step can be repeated and interrupted; a ConfigMap records the last one that is complete.
package takeover
