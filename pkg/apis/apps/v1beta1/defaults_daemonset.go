package v1beta1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// SetDefaults_DaemonSetSpec fills the fields of a DaemonSet. It covers the whole spec so that nothing
// touches the template: the template of a DaemonSet is stored without defaults, even on a write.
// +k8s:defaulter-gen=covers
func SetDefaults_DaemonSetSpec(in *DaemonSetSpec) {
	if in.BurstReplicas == nil {
		in.BurstReplicas = new(intstr.FromInt32(250))
	}
	if in.RevisionHistoryLimit == nil {
		in.RevisionHistoryLimit = ptr.To[int32](10)
	}
	SetDefaults_DaemonSetUpdateStrategy(&in.UpdateStrategy)
}

// SetDefaults_DaemonSetUpdateStrategy gives a rolling update its block of settings. OnDelete does not use
// the block, and it is not changed.
func SetDefaults_DaemonSetUpdateStrategy(in *DaemonSetUpdateStrategy) {
	if in.Type == "" {
		in.Type = RollingUpdateDaemonSetStrategyType
	}
	if in.Type != RollingUpdateDaemonSetStrategyType {
		return
	}
	if in.RollingUpdate == nil {
		in.RollingUpdate = &RollingUpdateDaemonSet{}
	}
	SetDefaults_RollingUpdateDaemonSet(in.RollingUpdate)
}

// SetDefaults_RollingUpdateDaemonSet fills the block of settings.
func SetDefaults_RollingUpdateDaemonSet(in *RollingUpdateDaemonSet) {
	if in.RollingUpdateType == "" {
		in.RollingUpdateType = StandardRollingUpdateType
	}
	if in.MaxUnavailable == nil && in.MaxSurge == nil {
		in.MaxUnavailable, in.MaxSurge = new(intstr.FromInt32(1)), new(intstr.FromInt32(0))
	}
	if in.Paused == nil {
		in.Paused = new(false)
	}
}
