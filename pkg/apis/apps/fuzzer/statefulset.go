package fuzzer

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

var statefulSet = []any{
	fuzzStatefulSetSpec, fuzzStatefulSetUpdateStrategy, fuzzRollingUpdateStatefulSet, fuzzStatefulSetStatus, fuzzV1beta1StatefulSetStatus,
}

func fuzzStatefulSetSpec(spec *apps.StatefulSetSpec, c randfill.Continue) {
	c.FillNoCustom(spec)
	spec.Replicas = new(ptr.Deref(spec.Replicas, 1))
	spec.RevisionHistoryLimit = new(ptr.Deref(spec.RevisionHistoryLimit, 10))
	policies := []appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement}
	spec.PodManagementPolicy = policies[c.Intn(len(policies))]
}

func fuzzStatefulSetUpdateStrategy(strategy *apps.StatefulSetUpdateStrategy, c randfill.Continue) {
	c.FillNoCustom(strategy)
	strategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	if c.Bool() {
		strategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		if strategy.RollingUpdate == nil {
			strategy.RollingUpdate = &apps.RollingUpdateStatefulSetStrategy{}
			c.Fill(strategy.RollingUpdate)
		}
	}
}

func fuzzRollingUpdateStatefulSet(rolling *apps.RollingUpdateStatefulSetStrategy, c randfill.Continue) {
	c.FillNoCustom(rolling)
	rolling.PodUpdatePolicy = podUpdatePolicies[c.Intn(len(podUpdatePolicies))]
	rolling.Partition = new(ptr.Deref(rolling.Partition, 0))
	rolling.MaxUnavailable = new(ptr.Deref(rolling.MaxUnavailable, intstr.FromInt32(1)))
	rolling.MinReadySeconds = new(ptr.Deref(rolling.MinReadySeconds, 0))
}

// fuzzStatefulSetStatus leaves out what v1alpha1 does not show: no version gets it back from there.
func fuzzStatefulSetStatus(status *apps.StatefulSetStatus, c randfill.Continue) {
	c.FillNoCustom(status)
	status.UpdatedReadyReplicas, status.UpdatedAvailableReplicas, status.VolumeClaims = 0, 0, nil
}

func fuzzV1beta1StatefulSetStatus(status *v1beta1.StatefulSetStatus, c randfill.Continue) {
	c.FillNoCustom(status)
	status.UpdatedReadyReplicas, status.UpdatedAvailableReplicas, status.VolumeClaims = 0, 0, nil
}
