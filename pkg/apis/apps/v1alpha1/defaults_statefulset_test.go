package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/pub"
)

func TestStatefulSetDefaults(t *testing.T) {
	type spec = v1alpha1.StatefulSetSpec
	rolling := func(set v1alpha1.RollingUpdateStatefulSetStrategy) func(*spec) {
		return func(s *spec) { s.UpdateStrategy.RollingUpdate = &set }
	}
	cases := map[string]struct {
		change func(*spec)
		get    func(*spec) any
		want   any
	}{
		"replicas":             {nil, func(s *spec) any { return *s.Replicas }, int32(1)},
		"replicas kept":        {func(s *spec) { s.Replicas = ptr.To[int32](0) }, func(s *spec) any { return *s.Replicas }, int32(0)},
		"revisionHistoryLimit": {nil, func(s *spec) any { return *s.RevisionHistoryLimit }, int32(10)},
		"revisionHistoryLimit kept": {
			func(s *spec) { s.RevisionHistoryLimit = ptr.To[int32](0) }, func(s *spec) any { return *s.RevisionHistoryLimit }, int32(0),
		},
		"podManagementPolicy": {nil, func(s *spec) any { return s.PodManagementPolicy }, appsv1.OrderedReadyPodManagement},
		"podManagementPolicy kept": {
			func(s *spec) { s.PodManagementPolicy = "Parallel" }, func(s *spec) any { return s.PodManagementPolicy }, appsv1.ParallelPodManagement,
		},
		"serviceName": {nil, func(s *spec) any { return s.ServiceName }, ""},
		"type":        {nil, func(s *spec) any { return s.UpdateStrategy.Type }, appsv1.RollingUpdateStatefulSetStrategyType},
		"OnDelete gets no block": {
			func(s *spec) { s.UpdateStrategy.Type = "OnDelete" },
			func(s *spec) any { return s.UpdateStrategy }, v1alpha1.StatefulSetUpdateStrategy{Type: "OnDelete"},
		},
		"partition": {nil, func(s *spec) any { return *s.UpdateStrategy.RollingUpdate.Partition }, int32(0)},
		"partition kept": {
			rolling(v1alpha1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](3)}),
			func(s *spec) any { return *s.UpdateStrategy.RollingUpdate.Partition }, int32(3),
		},
		"maxUnavailable": {nil, func(s *spec) any { return *s.UpdateStrategy.RollingUpdate.MaxUnavailable }, intstr.FromInt32(1)},
		"maxUnavailable kept": {
			rolling(v1alpha1.RollingUpdateStatefulSetStrategy{MaxUnavailable: new(intstr.FromString("20%"))}),
			func(s *spec) any { return *s.UpdateStrategy.RollingUpdate.MaxUnavailable }, intstr.FromString("20%"),
		},
		"podUpdatePolicy": {nil, func(s *spec) any { return s.UpdateStrategy.RollingUpdate.PodUpdatePolicy }, pub.ReCreatePodUpdatePolicy},
		"paused":          {nil, func(s *spec) any { return s.UpdateStrategy.RollingUpdate.Paused }, false},
		"minReadySeconds": {nil, func(s *spec) any { return *s.UpdateStrategy.RollingUpdate.MinReadySeconds }, int32(0)},
		"minReadySeconds kept": {
			rolling(v1alpha1.RollingUpdateStatefulSetStrategy{MinReadySeconds: ptr.To[int32](9)}),
			func(s *spec) any { return *s.UpdateStrategy.RollingUpdate.MinReadySeconds }, int32(9),
		},
		"inPlaceUpdateStrategy kept": {
			rolling(v1alpha1.RollingUpdateStatefulSetStrategy{
				PodUpdatePolicy: "InPlaceOnly", InPlaceUpdateStrategy: &pub.InPlaceUpdateStrategy{GracePeriodSeconds: 9},
			}),
			func(s *spec) any { return s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy }, &pub.InPlaceUpdateStrategy{GracePeriodSeconds: 9},
		},
		"no unorderedUpdate": {
			nil, func(s *spec) any { return s.UpdateStrategy.RollingUpdate.UnorderedUpdate }, (*v1alpha1.UnorderedUpdateStrategy)(nil),
		},
		"inPlaceUpdateStrategy of ReCreate": {
			nil, func(s *spec) any { return s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy }, (*pub.InPlaceUpdateStrategy)(nil),
		},
		"inPlaceUpdateStrategy of InPlaceIfPossible": {
			rolling(v1alpha1.RollingUpdateStatefulSetStrategy{PodUpdatePolicy: "InPlaceIfPossible"}),
			func(s *spec) any { return s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy }, &pub.InPlaceUpdateStrategy{},
		},
		"inPlaceUpdateStrategy of InPlaceOnly": {
			rolling(v1alpha1.RollingUpdateStatefulSetStrategy{PodUpdatePolicy: "InPlaceOnly"}),
			func(s *spec) any { return s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy }, &pub.InPlaceUpdateStrategy{},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			written := &v1alpha1.StatefulSet{}
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
func TestStatefulSetDefaultsLeaveTemplatesAlone(t *testing.T) {
	written := &v1alpha1.StatefulSet{}
	written.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}
	written.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
	stored := written.DeepCopy()
	newScheme(t).Default(written)
	require.Equal(t, stored.Spec.Template, written.Spec.Template)
	require.Equal(t, stored.Spec.VolumeClaimTemplates, written.Spec.VolumeClaimTemplates)
}
