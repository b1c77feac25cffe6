package v1beta1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func TestDaemonSetDefaults(t *testing.T) {
	type (
		spec  = v1beta1.DaemonSetSpec
		block = v1beta1.RollingUpdateDaemonSet
	)
	rolling := func(written block) func(*spec) {
		return func(s *spec) { s.UpdateStrategy.RollingUpdate = &written }
	}
	pace := func(s *spec) any {
		return []*intstr.IntOrString{s.UpdateStrategy.RollingUpdate.MaxUnavailable, s.UpdateStrategy.RollingUpdate.MaxSurge}
	}
	cases := map[string]struct {
		change func(*spec)
		get    func(*spec) any
		want   any
	}{
		"burstReplicas": {nil, func(s *spec) any { return *s.BurstReplicas }, intstr.FromInt32(250)},
		"burstReplicas kept": {
			func(s *spec) { s.BurstReplicas = new(intstr.FromInt32(0)) }, func(s *spec) any { return *s.BurstReplicas }, intstr.FromInt32(0),
		},
		"revisionHistoryLimit": {nil, func(s *spec) any { return *s.RevisionHistoryLimit }, int32(10)},
		"revisionHistoryLimit kept": {
			func(s *spec) { s.RevisionHistoryLimit = ptr.To[int32](0) }, func(s *spec) any { return *s.RevisionHistoryLimit }, int32(0),
		},
		"minReadySeconds": {nil, func(s *spec) any { return s.MinReadySeconds }, int32(0)},
		"type":            {nil, func(s *spec) any { return s.UpdateStrategy.Type }, v1beta1.RollingUpdateDaemonSetStrategyType},
		"OnDelete gets no block": {
			func(s *spec) { s.UpdateStrategy.Type = "OnDelete" },
			func(s *spec) any { return s.UpdateStrategy }, v1beta1.DaemonSetUpdateStrategy{Type: "OnDelete"},
		},
		"OnDelete keeps its block as it is": {
			func(s *spec) {
				s.UpdateStrategy = v1beta1.DaemonSetUpdateStrategy{Type: "OnDelete", RollingUpdate: &block{}}
			},
			func(s *spec) any { return s.UpdateStrategy.RollingUpdate }, &block{},
		},
		"rollingUpdateType": {nil, func(s *spec) any { return s.UpdateStrategy.RollingUpdate.RollingUpdateType }, v1beta1.StandardRollingUpdateType},
		"pace":              {nil, pace, []*intstr.IntOrString{new(intstr.FromInt32(1)), new(intstr.FromInt32(0))}},
		"pace with maxUnavailable": {
			rolling(block{MaxUnavailable: new(intstr.FromString("20%"))}), pace, []*intstr.IntOrString{new(intstr.FromString("20%")), nil},
		},
		"pace with maxSurge": {
			rolling(block{MaxSurge: new(intstr.FromInt32(2))}), pace, []*intstr.IntOrString{nil, new(intstr.FromInt32(2))},
		},
		"partition is unset": {nil, func(s *spec) any { return s.UpdateStrategy.RollingUpdate.Partition }, (*intstr.IntOrString)(nil)},
		"paused":             {nil, func(s *spec) any { return *s.UpdateStrategy.RollingUpdate.Paused }, false},
		"paused kept": {
			rolling(block{Paused: ptr.To(true)}), func(s *spec) any { return *s.UpdateStrategy.RollingUpdate.Paused }, true,
		},
		"partition holds back no creation": {nil, func(s *spec) any { return s.ScaleStrategy.PartitionedScaling }, false},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			written := &v1beta1.DaemonSet{}
			if test.change != nil {
				test.change(&written.Spec)
			}
			newScheme(t).Default(written)
			require.Equal(t, test.want, test.get(&written.Spec))
			again := written.DeepCopy()
			newScheme(t).Default(again)
			require.Equal(t, written, again, "defaulting twice must change nothing")
		})
	}
}

// A template is read as it was stored, whatever a newer server would fill in.
func TestDaemonSetDefaultsLeaveTemplatesAlone(t *testing.T) {
	written := &v1beta1.DaemonSet{}
	written.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}
	stored := written.DeepCopy()
	newScheme(t).Default(written)
	require.Equal(t, stored.Spec.Template, written.Spec.Template)
}
