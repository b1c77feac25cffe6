package v1beta1_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func hashed(t *testing.T, change func(*v1beta1.SidecarSetSpec)) (full, withoutImage string) {
	t.Helper()
	spec := &v1beta1.SidecarSetSpec{
		Containers:     []v1beta1.SidecarContainer{{Container: corev1.Container{Name: "a", Image: "demo:v1"}}},
		InitContainers: []v1beta1.SidecarContainer{{Container: corev1.Container{Name: "i", Image: "demo:v1"}}},
	}
	change(spec)
	before := spec.DeepCopy()
	full, withoutImage, err := spec.Hashes()
	require.NoError(t, err)
	require.Equal(t, before, spec)
	return full, withoutImage
}

// Pods of earlier releases have these hashes, so the hashed text must not change.
func TestHashesAreStable(t *testing.T) {
	full, withoutImage := hashed(t, func(*v1beta1.SidecarSetSpec) {})
	require.Equal(t, "64c2627b68x9xx549bz4cb8d55dxzv5559wf5b884x9w25x5dw9w777744d62z48", full)
	require.Equal(t, "49x48b4xwc2d7b4vxfcxwvdvcdbzx5cv54cw8z76b2572f6bw6z2xz54dzd5wzd4", withoutImage)
	full, _ = hashed(t, func(s *v1beta1.SidecarSetSpec) {
		s.InitContainers[0].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	})
	require.Equal(t, "4w44w8d47bx646692bww46cc4zdd6f87cbwbd24c7d259f2c2454244d2v6vf769", full)

	text, err := json.Marshal(v1beta1.SidecarContainer{
		Container:       corev1.Container{Name: "a"},
		PodInjectPolicy: "AfterAppContainer", UpgradeStrategy: v1beta1.SidecarContainerUpgradeStrategy{UpgradeType: "HotUpgrade", HotUpgradeEmptyImage: "e"},
		ShareVolumePolicy: v1beta1.ShareVolumePolicy{Type: "enabled"}, ShareVolumeDevicePolicy: &v1beta1.ShareVolumePolicy{Type: "disabled"},
		TransferEnv: []v1beta1.TransferEnvVar{{SourceContainerName: "m", EnvName: "E", EnvNames: []string{"F"}}},
	})
	require.NoError(t, err)
	require.Equal(t, `{"name":"a","resources":{},"podInjectPolicy":"AfterAppContainer",`+
		`"upgradeStrategy":{"upgradeType":"HotUpgrade","hotUpgradeEmptyImage":"e"},"shareVolumePolicy":{"type":"enabled"},`+
		`"shareVolumeDevicePolicy":{"type":"disabled"},"transferEnv":[{"sourceContainerName":"m","envName":"E","envNames":["F"]}]}`, string(text))
}

// The store does not keep the difference, so the hashes of a stored SidecarSet must not depend on it.
func TestEmptyListAndNoListHaveTheSameHashes(t *testing.T) {
	emptyFull, emptyWithoutImage := hashed(t, func(s *v1beta1.SidecarSetSpec) { s.Containers = []v1beta1.SidecarContainer{} })
	full, withoutImage := hashed(t, func(s *v1beta1.SidecarSetSpec) { s.Containers = nil })
	require.Equal(t, full, emptyFull)
	require.Equal(t, withoutImage, emptyWithoutImage)
}

func TestFieldsThatChangeHashes(t *testing.T) {
	always := func(s *v1beta1.SidecarSetSpec) {
		s.InitContainers[0].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	}
	for name, test := range map[string]struct {
		base, change       func(*v1beta1.SidecarSetSpec)
		full, withoutImage bool
	}{
		"image":                    {nil, func(s *v1beta1.SidecarSetSpec) { s.Containers[0].Image = "demo:v2" }, true, false},
		"environment":              {nil, func(s *v1beta1.SidecarSetSpec) { s.Containers[0].Env = []corev1.EnvVar{{Name: "A"}} }, true, true},
		"our field":                {nil, func(s *v1beta1.SidecarSetSpec) { s.Containers[0].PodInjectPolicy = "AfterAppContainer" }, true, true},
		"volumes":                  {nil, func(s *v1beta1.SidecarSetSpec) { s.Volumes = []corev1.Volume{{Name: "v"}} }, false, false},
		"annotations":              {nil, func(s *v1beta1.SidecarSetSpec) { s.PatchPodMetadata = []v1beta1.SidecarSetPatchPodMetadata{{}} }, false, false},
		"init container that ends": {nil, func(s *v1beta1.SidecarSetSpec) { s.InitContainers[0].Name = "j" }, false, false},
		"init container that ends when it fails": {nil, func(s *v1beta1.SidecarSetSpec) {
			s.InitContainers[0].RestartPolicy = new(corev1.ContainerRestartPolicyNever)
		}, false, false},
		"init container that keeps running":             {always, func(s *v1beta1.SidecarSetSpec) { s.InitContainers[0].Name = "j" }, true, true},
		"image of an init container that keeps running": {always, func(s *v1beta1.SidecarSetSpec) { s.InitContainers[0].Image = "demo:v2" }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			base := func(s *v1beta1.SidecarSetSpec) {
				if test.base != nil {
					test.base(s)
				}
			}
			full, withoutImage := hashed(t, base)
			newFull, newWithoutImage := hashed(t, func(s *v1beta1.SidecarSetSpec) { base(s); test.change(s) })
			require.Equal(t, test.full, full != newFull)
			require.Equal(t, test.withoutImage, withoutImage != newWithoutImage)
		})
	}
}
