// Package podtemplate defaults and validates Pod templates and claim templates with
// the code that a Deployment's and a StatefulSet's go through. It is the one importer of
// k8s.io/kubernetes; all its functions take and return k8s.io/api types.
//
// It knows no kind of ours. Enter at Default, Validate and Warnings, and at DefaultParts,
// ValidateParts and ValidateProbe for kinds without a template; the packages
// install and validation of a group call them.
//
// Core's rules work on internal types. So each function makes a copy, sets core's defaults in it, converts it, and runs the
// rules on the result. Only functions whose names begin with Default change their arguments.
package podtemplate
