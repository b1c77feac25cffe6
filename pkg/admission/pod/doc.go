// Package pod owns what becomes of a Pod when it is created: the ordered chain of mutators that kube-apiserver asks by one
// review.
//
// The order is one table, in chain.go. Each mutator sees the Pod as those before it left it. A Pod is changed by all of them or
// by none, and a second call changes nothing more. Mutators find what concerns a Pod by index, in caches of this server's own
// store; what those are filled from, and who calls, is not theirs. Enter at Plugin.Admit.
package pod
