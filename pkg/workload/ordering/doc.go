// Package ordering owns the order of Pods: when a workload scales down (ForDeletion), and when it updates (ForUpdate, then
// ByWeight or ByOrderedKeys, and Scatter).
//
// Every order is total. Pods that are otherwise equal are sorted by name, so two passes over the same Pods agree. The functions
// sort copies and make no API requests.
//
// A rule compares two Pods by one property. An order is a list of rules (inOrder): a rule decides only where all rules before
// it find the two Pods equal.
package ordering
