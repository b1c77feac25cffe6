package install_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/pub"
)

func TestDefaultStatefulSetTemplate(t *testing.T) {
	written := func() *apps.StatefulSet {
		return &apps.StatefulSet{Spec: apps.StatefulSetSpec{
			Template:             corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b:v1"}}}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{}},
		}}
	}
	cases := map[string]struct {
		old                       *apps.StatefulSet
		change                    func(*apps.StatefulSet)
		wantTemplate, wantVolumes bool
	}{
		"create":      {nil, func(*apps.StatefulSet) {}, true, true},
		"nothing":     {written(), func(*apps.StatefulSet) {}, false, false},
		"other field": {written(), func(s *apps.StatefulSet) { s.Spec.ServiceName = "a" }, false, false},
		"image":       {written(), func(s *apps.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = "b:v2" }, false, false},
		"host":        {written(), func(s *apps.StatefulSet) { s.Spec.Template.Spec.HostNetwork = true }, true, false},
		"claim":       {written(), func(s *apps.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Name = "v" }, false, true},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			set := written()
			test.change(set)
			install.DefaultStatefulSetTemplate(set, test.old, nil)
			require.Equal(t, test.wantTemplate, set.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyAlways)
			require.Equal(t, test.wantVolumes, set.Spec.VolumeClaimTemplates[0].Spec.VolumeMode != nil)
		})
	}
}

func TestDefaultClaimRetention(t *testing.T) {
	type policy = apps.StatefulSetPersistentVolumeClaimRetentionPolicy
	for name, test := range map[string]struct{ written, want *policy }{
		"unset": {nil, &policy{WhenDeleted: "Retain", WhenScaled: "Retain"}},
		"half":  {&policy{WhenScaled: "Delete"}, &policy{WhenDeleted: "Retain", WhenScaled: "Delete"}},
		"whole": {&policy{WhenDeleted: "Delete", WhenScaled: "Delete"}, &policy{WhenDeleted: "Delete", WhenScaled: "Delete"}},
	} {
		t.Run(name, func(t *testing.T) {
			set := &apps.StatefulSet{Spec: apps.StatefulSetSpec{PersistentVolumeClaimRetentionPolicy: test.written}}
			install.DefaultClaimRetention(set, nil)
			require.Equal(t, test.want, set.Spec.PersistentVolumeClaimRetentionPolicy)
		})
	}
}

func TestDefaultClaimUpdate(t *testing.T) {
	set := &apps.StatefulSet{}
	install.DefaultClaimUpdate(set, nil)
	require.Equal(t, apps.OnDeleteVolumeClaimUpdateStrategyType, set.Spec.VolumeClaimUpdateStrategy.Type)
	set.Spec.VolumeClaimUpdateStrategy.Type = apps.OnPodRollingUpdateVolumeClaimUpdateStrategyType
	install.DefaultClaimUpdate(set, nil)
	require.Equal(t, apps.OnPodRollingUpdateVolumeClaimUpdateStrategyType, set.Spec.VolumeClaimUpdateStrategy.Type)
}

// A whole object in v1alpha1 has none of the fields, and must not remove them.
func TestKeepStatefulSet(t *testing.T) {
	old := &apps.StatefulSet{Spec: apps.StatefulSetSpec{
		ServiceName:               "a",
		ReserveOrdinals:           []intstr.IntOrString{intstr.FromInt32(1)},
		Lifecycle:                 &pub.Lifecycle{},
		ScaleStrategy:             &apps.StatefulSetScaleStrategy{},
		Ordinals:                  &apps.StatefulSetOrdinals{Start: 1},
		VolumeClaimUpdateStrategy: apps.VolumeClaimUpdateStrategy{Type: "OnDelete"},
		PersistentVolumeClaimRetentionPolicy: &apps.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: "Delete",
		},
	}}
	set := &apps.StatefulSet{Spec: apps.StatefulSetSpec{ServiceName: "b"}}
	install.KeepStatefulSet("v1beta1", set, old)
	require.Equal(t, apps.StatefulSetSpec{ServiceName: "b"}, set.Spec)

	install.KeepStatefulSet("v1alpha1", set, old)
	want := old.Spec.DeepCopy()
	want.ServiceName = "b"
	require.Equal(t, *want, set.Spec)
}
