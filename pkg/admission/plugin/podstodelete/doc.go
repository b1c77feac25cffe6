// Package podstodelete checks that the Pods that a CloneSet names for deletion are its own.
//
// A new name in spec.scaleStrategy.podsToDelete must be a Pod that exists, is not terminating, and has this CloneSet
// as its controller. A request reads Pods at most once, and not at all if it creates the CloneSet or names too many.
// Validation checks the format of the list. Enter at Register.
package podstodelete
