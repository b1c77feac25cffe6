package apps

// KeepStatefulSetFields copies the fields that v1alpha1 cannot say: a write through v1alpha1
// leaves them as they are.
func KeepStatefulSetFields(from, to *StatefulSetSpec) {
	kept := from.DeepCopy()
	to.VolumeClaimUpdateStrategy = kept.VolumeClaimUpdateStrategy
	to.ReserveOrdinals = kept.ReserveOrdinals
	to.Lifecycle = kept.Lifecycle
	to.ScaleStrategy = kept.ScaleStrategy
	to.PersistentVolumeClaimRetentionPolicy = kept.PersistentVolumeClaimRetentionPolicy
	to.Ordinals = kept.Ordinals
}
