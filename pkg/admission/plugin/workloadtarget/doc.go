// Package workloadtarget checks the target workload of a WorkloadSpread or PersistentPodState. The workload kind must
// be supported or allowed by the administrator, and no other object of the same kind in the namespace may have the
// same target. The package also tries the patches of a WorkloadSpread on the workload, if that exists.
//
// It looks for conflicts only on creation, because the target is immutable. It lists one namespace live, because a cache
// could miss an object that was created a moment ago. Validation checks the format of the reference. Enter at Register.
package workloadtarget
