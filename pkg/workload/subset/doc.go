// Package subset owns what UnitedDeployment and WorkloadSpread have in common: how a subset of nodes changes a Pod, and when a
// Pod counts as unschedulable.
//
// All functions are pure; the caller passes the current time. Enter at Require, Patch and Unschedulable.
//
// Require, Prefer, Tolerate and Patch change an object that the caller owns. A second call of the first three changes nothing,
// because admission may be called twice for one Pod.
package subset
