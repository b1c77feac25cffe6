package install

import "kruise.io/kruise/pkg/apis/apps"

// DefaultStatefulSetTemplate fills the Pod template and the claim templates of a StatefulSet that
// a user writes. old is the stored object, nil on create; what an update leaves alone stays as it
// is stored.
func DefaultStatefulSetTemplate(set, old *apps.StatefulSet) {
	if old == nil {
		defaultTemplates(&set.Spec.Template, nil, set.Spec.VolumeClaimTemplates, nil)
		return
	}
	defaultTemplates(&set.Spec.Template, &old.Spec.Template, set.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates)
}

// DefaultClaimRetention keeps claims unless the user says otherwise. A server does this where the
// gate StatefulSetAutoDeletePVC is on.
func DefaultClaimRetention(set, _ *apps.StatefulSet) {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil {
		policy = &apps.StatefulSetPersistentVolumeClaimRetentionPolicy{}
		set.Spec.PersistentVolumeClaimRetentionPolicy = policy
	}
	if policy.WhenDeleted == "" {
		policy.WhenDeleted = apps.RetainPersistentVolumeClaimRetentionPolicyType
	}
	if policy.WhenScaled == "" {
		policy.WhenScaled = apps.RetainPersistentVolumeClaimRetentionPolicyType
	}
}

// DefaultClaimUpdate leaves existing claims alone unless the user says otherwise. A server does
// this where the gate StatefulSetAutoResizePVCGate is on.
func DefaultClaimUpdate(set, _ *apps.StatefulSet) {
	if set.Spec.VolumeClaimUpdateStrategy.Type == "" {
		set.Spec.VolumeClaimUpdateStrategy.Type = apps.OnDeleteVolumeClaimUpdateStrategyType
	}
}

// KeepStatefulSet leaves what a version cannot say as it is stored. An update in v1alpha1 that
// comes without the annotation of the kept fields would otherwise free reserved ordinals, and
// delete Pods by that.
func KeepStatefulSet(version string, set, old *apps.StatefulSet) {
	if version == "v1alpha1" {
		apps.KeepStatefulSetFields(&old.Spec, &set.Spec)
	}
}
