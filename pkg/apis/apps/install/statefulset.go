package install

import (
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps"
)

// DefaultStatefulSetTemplate fills the Pod template and the claim templates of a StatefulSet written by a
// user. old is the stored object, nil on create. Unchanged parts of an update keep their stored values. more
// is as in DefaultCloneSetTemplate.
func DefaultStatefulSetTemplate(set, old *apps.StatefulSet, more func(*corev1.PodSpec)) {
	stored := &workloadTemplates{}
	if old != nil {
		stored = &workloadTemplates{&old.Spec.Template, old.Spec.VolumeClaimTemplates}
	}
	defaultTemplates(&workloadTemplates{&set.Spec.Template, set.Spec.VolumeClaimTemplates}, stored, more)
}

// DefaultClaimRetention sets the policy Retain if the user sets none. A server calls it if the feature
// gate StatefulSetAutoDeletePVC is enabled.
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

// DefaultClaimUpdate sets the strategy OnDelete if the user sets none. A server calls it if the feature
// gate StatefulSetAutoResizePVCGate is enabled.
func DefaultClaimUpdate(set, _ *apps.StatefulSet) {
	if set.Spec.VolumeClaimUpdateStrategy.Type == "" {
		set.Spec.VolumeClaimUpdateStrategy.Type = apps.OnDeleteVolumeClaimUpdateStrategyType
	}
}

// KeepStatefulSet keeps the stored values of fields that the version of the request does not have.
// Otherwise, an update in v1alpha1 without the annotation of the kept fields would free reserved ordinals
// and delete Pods.
func KeepStatefulSet(version string, set, old *apps.StatefulSet) {
	if version == "v1alpha1" {
		apps.KeepStatefulSetFields(&old.Spec, &set.Spec)
	}
}
