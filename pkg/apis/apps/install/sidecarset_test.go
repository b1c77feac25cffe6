package install_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/generated/openapi"
)

func newSidecarSet(image string) *apps.SidecarSet {
	container := apps.SidecarContainer{Container: corev1.Container{Name: "a", Image: image, Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}
	return &apps.SidecarSet{Spec: apps.SidecarSetSpec{
		Containers: []apps.SidecarContainer{container}, InitContainers: []apps.SidecarContainer{*container.DeepCopy()},
		Volumes: []corev1.Volume{{Name: "v"}},
	}}
}

func TestDefaultSidecarSet(t *testing.T) {
	withoutVolumes := newSidecarSet("demo:v1")
	withoutVolumes.Spec.Volumes = nil
	cases := map[string]struct {
		image  string
		old    *apps.SidecarSet
		filled bool
		want   corev1.PullPolicy
	}{
		"create with a tag":    {"demo:v1", nil, true, corev1.PullIfNotPresent},
		"create without a tag": {"demo", nil, true, corev1.PullAlways},
		"changed":              {"demo:v2", withoutVolumes, true, corev1.PullIfNotPresent},
		"with a new image":     {"demo:v2", newSidecarSet("demo:v1"), false, ""},
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

// OpenKruise stores the default in SidecarSets, so it is in the hashes that its Pods have.
// Case sidecarset 53.
func TestProcMountOfASidecarSet(t *testing.T) {
	secured := func(mount *corev1.ProcMountType) *apps.SidecarSet {
		set := newSidecarSet("demo:v1")
		for _, container := range []*apps.SidecarContainer{&set.Spec.Containers[0], &set.Spec.InitContainers[0]} {
			container.SecurityContext = &corev1.SecurityContext{ProcMount: mount}
		}
		return set
	}
	created := secured(nil)
	install.DefaultSidecarSet(created, nil)
	for _, container := range []apps.SidecarContainer{created.Spec.Containers[0], created.Spec.InitContainers[0]} {
		require.Equal(t, new(corev1.DefaultProcMount), container.SecurityContext.ProcMount)
	}
	other := secured(new(corev1.UnmaskedProcMount))
	install.DefaultSidecarSet(other, nil)
	require.Equal(t, new(corev1.UnmaskedProcMount), other.Spec.Containers[0].SecurityContext.ProcMount)
	without := newSidecarSet("demo:v1")
	install.DefaultSidecarSet(without, nil)
	require.Nil(t, without.Spec.Containers[0].SecurityContext)

	again := secured(nil)
	install.DefaultSidecarSet(again, created)
	require.Equal(t, created.Annotations[pub.SidecarSetHashKey], again.Annotations[pub.SidecarSetHashKey], "the manifest is written again")

	// A release before the default stored the SidecarSet.
	stored := created.DeepCopy()
	stored.Spec.Containers[0].SecurityContext.ProcMount, stored.Spec.InitContainers[0].SecurityContext.ProcMount = nil, nil
	same := stored.DeepCopy()
	install.DefaultSidecarSet(same, stored)
	upgraded := secured(nil)
	upgraded.Spec.Containers[0].Image = "demo:v2"
	install.DefaultSidecarSet(upgraded, stored)
	require.Equal(t, same.Annotations[pub.SidecarSetHashWithoutImageKey], upgraded.Annotations[pub.SidecarSetHashWithoutImageKey],
		"a new image is upgraded in running Pods")
	require.NotEqual(t, same.Annotations[pub.SidecarSetHashKey], upgraded.Annotations[pub.SidecarSetHashKey])
}

// kubectl label writes v1beta1, which has the custom version as a field too.
func TestCustomVersionAndItsLabelAgree(t *testing.T) {
	set := func(label, version string) *apps.SidecarSet {
		s := &apps.SidecarSet{Spec: apps.SidecarSetSpec{CustomVersion: version}}
		if label != "" {
			s.Labels = map[string]string{pub.SidecarSetCustomVersionKey: label}
		}
		return s
	}
	for name, test := range map[string]struct{ old, written, want *apps.SidecarSet }{
		"created with the label": {nil, set("v1", ""), set("v1", "v1")},
		"created with the field": {nil, set("", "v1"), set("", "v1")},
		"label changes":          {set("v1", "v1"), set("v2", "v1"), set("v2", "v2")},
		"label is removed":       {set("v1", "v1"), set("", "v1"), set("", "")},
		"field changes":          {set("v1", "v1"), set("v1", "v2"), set("v2", "v2")},
		"label is written again": {set("v1", "v1"), set("v1", ""), set("v1", "v1")},
		"both are removed":       {set("v1", "v1"), set("", ""), set("", "")},
	} {
		t.Run(name, func(t *testing.T) {
			install.DefaultSidecarSet(test.written, test.old)
			require.Equal(t, test.want.Spec.CustomVersion, test.written.Spec.CustomVersion)
			require.Equal(t, test.want.Labels[pub.SidecarSetCustomVersionKey], test.written.Labels[pub.SidecarSetCustomVersionKey])
		})
	}
}

// kubectl apply does not know the emptyDir that the server has added to a volume without a source. A Pod template treats volumes alike.
func TestVolumeOfASidecarSetGetsAnotherSource(t *testing.T) {
	for version, object := range map[string]runtime.Object{"v1alpha1": &v1alpha1.SidecarSet{}, "v1beta1": &v1beta1.SidecarSet{}} {
		t.Run(version, func(t *testing.T) {
			written, stored := []byte(`{"spec":{"volumes":[{"name":"v"}]}}`), []byte(`{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`)
			changed := []byte(`{"spec":{"volumes":[{"name":"v","configMap":{"name":"c"}}]}}`)
			meta, err := strategicpatch.NewPatchMetaFromStruct(object)
			require.NoError(t, err)
			patch, err := strategicpatch.CreateThreeWayMergePatch(written, changed, stored, meta, true)
			require.NoError(t, err)
			result, err := strategicpatch.StrategicMergePatch(stored, patch, object)
			require.NoError(t, err)
			require.JSONEq(t, string(changed), string(result))

			properties := openapi.GetOpenAPIDefinitions(spec.MustCreateRef)["io.kruise.kruise.pkg.apis.apps."+version+".SidecarSetSpec"].Schema.Properties
			strategy, _ := properties["volumes"].Extensions.GetString("x-kubernetes-patch-strategy")
			require.Equal(t, "merge,retainKeys", strategy, "kubectl reads the strategy from the OpenAPI schema")
		})
	}
}
