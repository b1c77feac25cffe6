// Package validation holds the rules of the kinds in the group apps.kruise.io, for the hub
// types. Every function returns all errors of an object at once; each names the field, its
// value and what to do.
//
// A rule that needs other objects, like the existence of the Pods in podsToDelete, is an
// admission plugin's and not here. Updates are judged by what they change: see package rules.
//
// Enter at Validate<Kind>, Validate<Kind>Update and Validate<Kind>StatusUpdate. <Kind>ErrorsIn,
// where a kind has it, puts the paths of errors as the version of the request spells them.
package validation
