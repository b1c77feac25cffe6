// Package podstodelete admits a CloneSet only when the Pods it names for deletion are its own.
//
// It owns one rule: a name that is new in spec.scaleStrategy.podsToDelete must be a Pod that
// exists, is not terminating, and has this CloneSet as its controller. The shape of the list is
// validation's business. Enter at Register.
package podstodelete
