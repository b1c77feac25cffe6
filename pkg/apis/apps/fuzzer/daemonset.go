package fuzzer

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"kruise.io/kruise/pkg/apis/apps"
)

var daemonSet = []any{fuzzDaemonSetSpec, fuzzDaemonSetUpdateStrategy, fuzzRollingUpdateDaemonSet}

func fuzzDaemonSetSpec(spec *apps.DaemonSetSpec, c randfill.Continue) {
	c.FillNoCustom(spec)
	spec.BurstReplicas = new(ptr.Deref(spec.BurstReplicas, intstr.FromInt32(250)))
	spec.RevisionHistoryLimit = new(ptr.Deref(spec.RevisionHistoryLimit, 10))
}

func fuzzDaemonSetUpdateStrategy(strategy *apps.DaemonSetUpdateStrategy, c randfill.Continue) {
	c.FillNoCustom(strategy)
	strategy.Type = apps.OnDeleteDaemonSetStrategyType
	if c.Bool() {
		strategy.Type = apps.RollingUpdateDaemonSetStrategyType
		if strategy.RollingUpdate == nil {
			strategy.RollingUpdate = &apps.RollingUpdateDaemonSet{}
			c.Fill(strategy.RollingUpdate)
		}
	}
}

func fuzzRollingUpdateDaemonSet(rolling *apps.RollingUpdateDaemonSet, c randfill.Continue) {
	c.FillNoCustom(rolling)
	types := []apps.RollingUpdateType{apps.StandardRollingUpdateType, apps.InplaceRollingUpdateType}
	rolling.RollingUpdateType = types[c.Intn(len(types))]
	rolling.MaxUnavailable = new(ptr.Deref(rolling.MaxUnavailable, intstr.FromInt32(1)))
	rolling.Paused = new(ptr.Deref(rolling.Paused, false))
}
