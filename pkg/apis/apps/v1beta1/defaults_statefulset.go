package v1beta1

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/pub"
)

// SetDefaults_StatefulSetSpec fills the fields of a StatefulSet. It covers the whole spec so that nothing
// here touches the template: a template is defaulted when a user writes it, never when it is read.
// Otherwise, a newer server would change existing Pods.
// +k8s:defaulter-gen=covers
func SetDefaults_StatefulSetSpec(in *StatefulSetSpec) {
	if in.Replicas == nil {
		in.Replicas = ptr.To[int32](1)
	}
	if in.RevisionHistoryLimit == nil {
		in.RevisionHistoryLimit = ptr.To[int32](10)
	}
	if in.PodManagementPolicy == "" {
		in.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	}
	SetDefaults_StatefulSetUpdateStrategy(&in.UpdateStrategy)
}

// SetDefaults_StatefulSetUpdateStrategy gives a rolling update its block of settings.
func SetDefaults_StatefulSetUpdateStrategy(in *StatefulSetUpdateStrategy) {
	if in.Type == "" {
		in.Type = appsv1.RollingUpdateStatefulSetStrategyType
	}
	if in.Type == appsv1.RollingUpdateStatefulSetStrategyType && in.RollingUpdate == nil {
		in.RollingUpdate = &RollingUpdateStatefulSetStrategy{}
	}
	if in.RollingUpdate != nil {
		SetDefaults_RollingUpdateStatefulSetStrategy(in.RollingUpdate)
	}
}

// SetDefaults_RollingUpdateStatefulSetStrategy fills the block of settings.
func SetDefaults_RollingUpdateStatefulSetStrategy(in *RollingUpdateStatefulSetStrategy) {
	if in.PodUpdatePolicy == "" {
		in.PodUpdatePolicy = pub.ReCreatePodUpdatePolicy
	}
	if in.Partition == nil {
		in.Partition = ptr.To[int32](0)
	}
	if in.MaxUnavailable == nil {
		in.MaxUnavailable = new(intstr.FromInt32(1))
	}
	if in.MinReadySeconds == nil {
		in.MinReadySeconds = ptr.To[int32](0)
	}
}
