package install_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/pub"
)

func newSidecarSet(image string) *apps.SidecarSet {
	container := apps.SidecarContainer{Container: corev1.Container{Name: "a", Image: image, Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}
	return &apps.SidecarSet{Spec: apps.SidecarSetSpec{
		Containers: []apps.SidecarContainer{container}, InitContainers: []apps.SidecarContainer{*container.DeepCopy()},
		Volumes: []corev1.Volume{{Name: "v"}},
	}}
}

func TestDefaultSidecarSet(t *testing.T) {
	cases := map[string]struct {
		image  string
		old    *apps.SidecarSet
		filled bool
		want   corev1.PullPolicy
	}{
		"create with a tag":    {"demo:v1", nil, true, corev1.PullIfNotPresent},
		"create without a tag": {"demo", nil, true, corev1.PullAlways},
		"changed":              {"demo:v2", newSidecarSet("demo:v1"), true, corev1.PullIfNotPresent},
		"left alone":           {"demo:v1", newSidecarSet("demo:v1"), false, ""},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			set := newSidecarSet(test.image)
			install.DefaultSidecarSet(set, test.old)
			for _, container := range []apps.SidecarContainer{set.Spec.Containers[0], set.Spec.InitContainers[0]} {
				require.Equal(t, test.want, container.ImagePullPolicy)
				require.Equal(t, test.filled, container.Ports[0].Protocol == corev1.ProtocolTCP)
			}
			require.Equal(t, test.filled, set.Spec.Volumes[0].EmptyDir != nil)
		})
	}
}

// The server computes the hashes and ignores what a user writes there.
func TestHashesOfASidecarSet(t *testing.T) {
	set := newSidecarSet("demo:v1")
	set.ObjectMeta = metav1.ObjectMeta{Annotations: map[string]string{"a": "b", pub.SidecarSetHashKey: "mine"}}
	written := set.Annotations
	install.DefaultSidecarSet(set, nil)
	full, withoutImage := set.Annotations[pub.SidecarSetHashKey], set.Annotations[pub.SidecarSetHashWithoutImageKey]
	require.Len(t, full, 64)
	require.Len(t, withoutImage, 64)
	require.NotEqual(t, full, withoutImage)
	require.Equal(t, "b", set.Annotations["a"])
	require.Equal(t, "mine", written[pub.SidecarSetHashKey], "maps are shared between versions")

	same := set.DeepCopy()
	same.Annotations = nil
	install.DefaultSidecarSet(same, set)
	require.Equal(t, set.Annotations[pub.SidecarSetHashKey], same.Annotations[pub.SidecarSetHashKey])

	changed := set.DeepCopy()
	changed.Spec.Containers[0].Image = "demo:v2"
	install.DefaultSidecarSet(changed, set)
	require.NotEqual(t, full, changed.Annotations[pub.SidecarSetHashKey])
	require.Equal(t, withoutImage, changed.Annotations[pub.SidecarSetHashWithoutImageKey])
}
