// Package launchorder owns the controller that lets the containers of a Pod start in an order. Admission gives each container a
// barrier (package launch): a variable that refers to a key of a ConfigMap. The kubelet does not start a container while its key is
// missing. The controller creates the ConfigMap with the key of the highest priority, and adds the next one when all containers of the
// priorities before it are ready.
//
// Keys are never removed, so a container that restarts later does not wait. Enter at New and Reconcile.
package launchorder
