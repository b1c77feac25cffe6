// Package ordering owns the order of Pods: when a workload scales down (ForDeletion), and when it updates (ForUpdate, then
// ByWeight or ByOrderedKeys, and Scatter).
//
// Every order is total. Pods that are otherwise equal are sorted by name, so two passes over the same Pods agree. The functions
// sort copies and make no API requests.
package ordering
