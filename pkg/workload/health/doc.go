// Package health owns the conditions by which tools judge any object, whatever its kind: Reconciling and Stalled. kstatus, and with it
// Flux and kpt, takes an object without them for complete as soon as its generation is observed.
//
// Both are absent while an object is as its spec asks for. They add no write: they change only with the numbers of the status that they
// sum up. Enter at Conditions.Set.
package health
