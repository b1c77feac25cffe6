// Package pod contains the ordered chain of mutators for new Pods. kube-apiserver calls the whole chain by one review.
//
// The order is a table in chain.go. Each mutator sees the changes of the previous ones. If a required mutator fails,
// the Pod is unchanged. A second call of the chain changes nothing. Mutators look up objects by index in caches of
// this server's own store. Other packages fill the caches and call the chain. Enter at Plugin.Patch.
package pod
