package v1beta1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func TestDefaultsOfSidecarSet(t *testing.T) {
	type spec = v1beta1.SidecarSetSpec
	cases := map[string]struct {
		change func(*spec)
		get    func(*spec) any
		want   any
	}{
		"update type": {func(*spec) {}, func(s *spec) any { return s.UpdateStrategy.Type }, v1beta1.RollingUpdateSidecarSetStrategyType},
		"update type kept": {
			func(s *spec) { s.UpdateStrategy.Type = "NotUpdate" }, func(s *spec) any { return s.UpdateStrategy.Type }, v1beta1.NotUpdateSidecarSetStrategyType,
		},
		"paused":    {func(*spec) {}, func(s *spec) any { return s.UpdateStrategy.Paused }, false},
		"partition": {func(*spec) {}, func(s *spec) any { return *s.UpdateStrategy.Partition }, intstr.FromInt32(0)},
		"partition kept": {
			func(s *spec) { s.UpdateStrategy.Partition = new(intstr.FromString("90%")) },
			func(s *spec) any { return *s.UpdateStrategy.Partition }, intstr.FromString("90%"),
		},
		"maxUnavailable": {func(*spec) {}, func(s *spec) any { return *s.UpdateStrategy.MaxUnavailable }, intstr.FromInt32(1)},
		"maxUnavailable kept": {
			func(s *spec) { s.UpdateStrategy.MaxUnavailable = new(intstr.FromInt32(0)) },
			func(s *spec) any { return *s.UpdateStrategy.MaxUnavailable }, intstr.FromInt32(0),
		},
		"revisionHistoryLimit": {func(*spec) {}, func(s *spec) any { return *s.RevisionHistoryLimit }, int32(10)},
		"revisionHistoryLimit kept": {
			func(s *spec) { s.RevisionHistoryLimit = ptr.To[int32](0) }, func(s *spec) any { return *s.RevisionHistoryLimit }, int32(0),
		},
		"injection": {func(*spec) {}, func(s *spec) any { return s.InjectionStrategy }, v1beta1.SidecarSetInjectionStrategy{}},
		"policy of revision": {
			func(s *spec) { s.InjectionStrategy.Revision = &v1beta1.SidecarSetInjectRevision{} },
			func(s *spec) any { return s.InjectionStrategy.Revision.Policy }, v1beta1.AlwaysSidecarSetInjectRevisionPolicy,
		},
		"policy of revision kept": {
			func(s *spec) { s.InjectionStrategy.Revision = &v1beta1.SidecarSetInjectRevision{Policy: "Partial"} },
			func(s *spec) any { return s.InjectionStrategy.Revision.Policy }, v1beta1.PartialSidecarSetInjectRevisionPolicy,
		},
		"patchPolicy": {
			func(s *spec) { s.PatchPodMetadata = []v1beta1.SidecarSetPatchPodMetadata{{}} },
			func(s *spec) any { return s.PatchPodMetadata[0].PatchPolicy }, v1beta1.SidecarSetRetainPatchPolicy,
		},
		"patchPolicy kept": {
			func(s *spec) { s.PatchPodMetadata = []v1beta1.SidecarSetPatchPodMetadata{{PatchPolicy: "Overwrite"}} },
			func(s *spec) any { return s.PatchPodMetadata[0].PatchPolicy }, v1beta1.SidecarSetOverwritePatchPolicy,
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			written := &v1beta1.SidecarSet{}
			test.change(&written.Spec)
			newScheme(t).Default(written)
			require.Equal(t, test.want, test.get(&written.Spec))
			again := written.DeepCopy()
			newScheme(t).Default(again)
			require.Equal(t, written, again, "defaulting twice must change nothing")
		})
	}
}

func TestDefaultsOfSidecarContainers(t *testing.T) {
	type container = v1beta1.SidecarContainer
	from := &v1beta1.SourceContainerNameSource{FieldRef: &corev1.ObjectFieldSelector{}}
	cases := map[string]struct {
		change func(*container)
		get    func(*container) any
		want   any
		// wantInit is the default of an init container where it differs.
		wantInit any
	}{
		"podInjectPolicy": {
			func(*container) {}, func(c *container) any { return c.PodInjectPolicy }, v1beta1.BeforeAppContainerType, v1beta1.AfterAppContainerType,
		},
		"upgradeType": {
			func(*container) {}, func(c *container) any { return c.UpgradeStrategy.UpgradeType }, v1beta1.SidecarContainerColdUpgrade, nil,
		},
		"upgradeType kept": {
			func(c *container) { c.UpgradeStrategy.UpgradeType = "HotUpgrade" },
			func(c *container) any { return c.UpgradeStrategy.UpgradeType }, v1beta1.SidecarContainerHotUpgrade, nil,
		},
		"shareVolumePolicy": {
			func(*container) {}, func(c *container) any { return c.ShareVolumePolicy.Type }, v1beta1.ShareVolumePolicyDisabled, nil,
		},
		"shareVolumePolicy kept": {
			func(c *container) { c.ShareVolumePolicy.Type = "enabled" },
			func(c *container) any { return c.ShareVolumePolicy.Type }, v1beta1.ShareVolumePolicyEnabled, nil,
		},
		"shareVolumeDevicePolicy is not added": {
			func(*container) {}, func(c *container) any { return c.ShareVolumeDevicePolicy }, (*v1beta1.ShareVolumePolicy)(nil), nil,
		},
		"shareVolumeDevicePolicy": {
			func(c *container) { c.ShareVolumeDevicePolicy = &v1beta1.ShareVolumePolicy{} },
			func(c *container) any { return c.ShareVolumeDevicePolicy.Type }, v1beta1.ShareVolumePolicyDisabled, nil,
		},
		"shareVolumeDevicePolicy kept": {
			func(c *container) { c.ShareVolumeDevicePolicy = &v1beta1.ShareVolumePolicy{Type: "enabled"} },
			func(c *container) any { return c.ShareVolumeDevicePolicy.Type }, v1beta1.ShareVolumePolicyEnabled, nil,
		},
		"version of a fieldRef kept": {
			func(c *container) {
				c.TransferEnv = []v1beta1.TransferEnvVar{{SourceContainerNameFrom: &v1beta1.SourceContainerNameSource{
					FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v2"},
				}}}
			},
			func(c *container) any { return c.TransferEnv[0].SourceContainerNameFrom.FieldRef.APIVersion }, "v2", nil,
		},
		"no fieldRef": {
			func(c *container) {
				c.TransferEnv = []v1beta1.TransferEnvVar{{SourceContainerNameFrom: &v1beta1.SourceContainerNameSource{}}}
			},
			func(c *container) any { return *c.TransferEnv[0].SourceContainerNameFrom }, v1beta1.SourceContainerNameSource{}, nil,
		},
		"version of a fieldRef": {
			func(c *container) {
				c.TransferEnv = []v1beta1.TransferEnvVar{{SourceContainerNameFrom: from.DeepCopy()}, {}}
			},
			func(c *container) any { return c.TransferEnv[0].SourceContainerNameFrom.FieldRef.APIVersion }, "v1", nil,
		},
		"resourcesPolicy is not added": {
			func(*container) {}, func(c *container) any { return c.ResourcesPolicy }, (*v1beta1.ResourcesPolicy)(nil), nil,
		},
		"regex of targets": {
			func(c *container) { c.ResourcesPolicy = &v1beta1.ResourcesPolicy{} },
			func(c *container) any { return *c.ResourcesPolicy.TargetContainersNameRegex }, ".*", nil,
		},
		"regex of targets kept": {
			func(c *container) {
				c.ResourcesPolicy = &v1beta1.ResourcesPolicy{TargetContainersNameRegex: new("")}
			},
			func(c *container) any { return *c.ResourcesPolicy.TargetContainersNameRegex }, "", nil,
		},
		"core's fields are left to the write": {
			func(c *container) { c.Image = "demo" }, func(c *container) any { return c.Container }, corev1.Container{Image: "demo"}, nil,
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			one := container{}
			test.change(&one)
			written := &v1beta1.SidecarSet{Spec: v1beta1.SidecarSetSpec{
				Containers: []container{one}, InitContainers: []container{*one.DeepCopy()},
			}}
			newScheme(t).Default(written)
			require.Equal(t, test.want, test.get(&written.Spec.Containers[0]))
			want := test.want
			if test.wantInit != nil {
				want = test.wantInit
			}
			require.Equal(t, want, test.get(&written.Spec.InitContainers[0]))
		})
	}
}
