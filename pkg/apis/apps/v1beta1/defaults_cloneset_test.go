package v1beta1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	require.NoError(t, v1beta1.RegisterDefaults(scheme))
	return scheme
}

func TestDefaults(t *testing.T) {
	cases := map[string]struct {
		change func(*v1beta1.CloneSetSpec)
		get    func(*v1beta1.CloneSetSpec) any
		want   any
	}{
		"replicas": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return *s.Replicas }, int32(1),
		},
		"replicas kept": {
			func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](0) },
			func(s *v1beta1.CloneSetSpec) any { return *s.Replicas }, int32(0),
		},
		"revisionHistoryLimit": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return *s.RevisionHistoryLimit }, int32(10),
		},
		"revisionHistoryLimit kept": {
			func(s *v1beta1.CloneSetSpec) { s.RevisionHistoryLimit = ptr.To[int32](0) },
			func(s *v1beta1.CloneSetSpec) any { return *s.RevisionHistoryLimit }, int32(0),
		},
		"minReadySeconds": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return s.MinReadySeconds }, int32(0),
		},
		"progressDeadlineSeconds is off": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return s.ProgressDeadlineSeconds }, (*int32)(nil),
		},
		"claims are not reused": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return s.ScaleStrategy.EnablePVCReuse }, false,
		},
		"excludePreparingDelete": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return s.ScaleStrategy.ExcludePreparingDelete }, false,
		},
		"creation is not limited": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return s.ScaleStrategy.MaxUnavailable }, (*intstr.IntOrString)(nil),
		},
		"type": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return s.UpdateStrategy.Type }, v1beta1.RollingUpdateCloneSetStrategyType,
		},
		"podUpdatePolicy": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return s.UpdateStrategy.RollingUpdate.PodUpdatePolicy }, pub.ReCreatePodUpdatePolicy,
		},
		"partition": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return *s.UpdateStrategy.RollingUpdate.Partition }, intstr.FromInt32(0),
		},
		"partition kept": {
			func(s *v1beta1.CloneSetSpec) {
				s.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{Partition: new(intstr.FromString("90%"))}
			},
			func(s *v1beta1.CloneSetSpec) any { return *s.UpdateStrategy.RollingUpdate.Partition }, intstr.FromString("90%"),
		},
		"maxUnavailable": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return *s.UpdateStrategy.RollingUpdate.MaxUnavailable }, intstr.FromString("20%"),
		},
		"maxUnavailable kept": {
			func(s *v1beta1.CloneSetSpec) {
				s.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{MaxUnavailable: new(intstr.FromInt32(0))}
			},
			func(s *v1beta1.CloneSetSpec) any { return *s.UpdateStrategy.RollingUpdate.MaxUnavailable }, intstr.FromInt32(0),
		},
		"maxSurge": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return *s.UpdateStrategy.RollingUpdate.MaxSurge }, intstr.FromInt32(0),
		},
		"maxSurge kept": {
			func(s *v1beta1.CloneSetSpec) {
				s.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{MaxSurge: new(intstr.FromInt32(2))}
			},
			func(s *v1beta1.CloneSetSpec) any { return *s.UpdateStrategy.RollingUpdate.MaxSurge }, intstr.FromInt32(2),
		},
		"paused": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return s.UpdateStrategy.RollingUpdate.Paused }, false,
		},
		"inPlaceUpdateStrategy of ReCreate": {
			func(_ *v1beta1.CloneSetSpec) {},
			func(s *v1beta1.CloneSetSpec) any { return s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy }, (*v1beta1.InPlaceUpdateStrategy)(nil),
		},
		"inPlaceUpdateStrategy of InPlaceIfPossible": {
			func(s *v1beta1.CloneSetSpec) {
				s.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: "InPlaceIfPossible"}
			},
			func(s *v1beta1.CloneSetSpec) any { return s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy }, &v1beta1.InPlaceUpdateStrategy{},
		},
		"inPlaceUpdateStrategy of InPlaceOnly": {
			func(s *v1beta1.CloneSetSpec) {
				s.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: "InPlaceOnly"}
			},
			func(s *v1beta1.CloneSetSpec) any { return s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy }, &v1beta1.InPlaceUpdateStrategy{},
		},
		"inPlaceUpdateStrategy kept": {
			func(s *v1beta1.CloneSetSpec) {
				s.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{
					PodUpdatePolicy: "InPlaceOnly", InPlaceUpdateStrategy: &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 9},
				}
			},
			func(s *v1beta1.CloneSetSpec) any { return s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy },
			&v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 9},
		},
		"OnDelete gets no block": {
			func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.Type = "OnDelete" },
			func(s *v1beta1.CloneSetSpec) any { return s.UpdateStrategy }, v1beta1.CloneSetUpdateStrategy{Type: "OnDelete"},
		},
		"OnDelete keeps its block and has it filled": {
			func(s *v1beta1.CloneSetSpec) {
				s.UpdateStrategy = v1beta1.CloneSetUpdateStrategy{Type: "OnDelete", RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{Paused: true}}
			},
			func(s *v1beta1.CloneSetSpec) any { return *s.UpdateStrategy.RollingUpdate.MaxUnavailable }, intstr.FromString("20%"),
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			written := &v1beta1.CloneSet{}
			test.change(&written.Spec)
			newScheme(t).Default(written)
			require.Equal(t, test.want, test.get(&written.Spec))
			again := written.DeepCopy()
			newScheme(t).Default(again)
			require.Equal(t, written, again, "defaulting twice must change nothing")
		})
	}
}

// A template is read as it was stored, whatever a newer server would fill in.
func TestDefaultsLeaveTemplatesAlone(t *testing.T) {
	written := &v1beta1.CloneSet{}
	written.Spec.Template.Spec = corev1.PodSpec{
		Containers: []corev1.Container{{Name: "a", Image: "b", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}},
		Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{}}}},
	}
	written.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
	stored := written.DeepCopy()
	newScheme(t).Default(written)
	require.Equal(t, stored.Spec.Template, written.Spec.Template)
	require.Equal(t, stored.Spec.VolumeClaimTemplates, written.Spec.VolumeClaimTemplates)
}
