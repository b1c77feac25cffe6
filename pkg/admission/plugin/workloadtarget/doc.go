// Package workloadtarget admits a WorkloadSpread or a PersistentPodState only with a workload that
// it can have: of a kind that is supported or that the administrator allows, and that no other
// object of its kind in the namespace has. It also tries the patches of a WorkloadSpread on the
// workload, where there is one.
//
// What it needs from elsewhere it reads live: the target cannot be changed, so conflicts are looked
// for when an object is created and at no other time, in one namespace, and a cache could miss the
// object that was created a moment ago. The shape of the reference is validation's business. Enter
// at Register.
package workloadtarget
