package apps

// KeepStatefulSetFields copies the fields that v1alpha1 does not have, so that a write through v1alpha1
// does not change them.
func KeepStatefulSetFields(from, to *StatefulSetSpec) {
	kept := from.DeepCopy()
	to.VolumeClaimUpdateStrategy = kept.VolumeClaimUpdateStrategy
	to.ReserveOrdinals = kept.ReserveOrdinals
	to.Lifecycle = kept.Lifecycle
	to.ScaleStrategy = kept.ScaleStrategy
	to.PersistentVolumeClaimRetentionPolicy = kept.PersistentVolumeClaimRetentionPolicy
	to.Ordinals = kept.Ordinals
}
