package history

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/pub"
)

func template(image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func data(t *testing.T, image string) []byte {
	t.Helper()
	encoded, err := Data(template(image))
	require.NoError(t, err)
	return encoded
}

func revisions(t *testing.T, n int) (all []*appsv1.ControllerRevision) {
	t.Helper()
	for i := range n {
		all = append(all, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("r%d", i+1)},
			Data:       runtime.RawExtension{Raw: data(t, fmt.Sprintf("image:%d", i+1))},
			Revision:   int64(i + 1),
		})
	}
	return all
}

func TestDataReplacesTheTemplate(t *testing.T) {
	encoded := data(t, "a:1")
	assert.Equal(t, `{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"a"}},`+
		`"spec":{"containers":[{"image":"a:1","name":"main","resources":{}}]}}}}`, string(encoded))
	back, err := Template(revision(encoded))
	require.NoError(t, err)
	assert.Equal(t, template("a:1"), back)
}

// The expected bytes are those of k8s.io/api 0.32, which OpenKruise has.
func TestDataHasTheCreationTimeOfEachMetadata(t *testing.T) {
	claim := func() metav1.ObjectMeta { return metav1.ObjectMeta{Labels: map[string]string{"metadata": "spec"}} }
	template := template("a:1")
	template.Annotations = map[string]string{"note": "<a&b>"}
	template.Spec.Volumes = []corev1.Volume{
		{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				ObjectMeta: claim(),
				Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
				}},
			},
		}}},
		{Name: "none", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
	}
	encoded, err := Data(template)
	require.NoError(t, err)
	assert.Equal(t, `{"spec":{"template":{"$patch":"replace",`+
		`"metadata":{"annotations":{"note":"\u003ca\u0026b\u003e"},"creationTimestamp":null,"labels":{"app":"a"}},`+
		`"spec":{"containers":[{"image":"a:1","name":"main","resources":{}}],"volumes":[`+
		`{"ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null,"labels":{"metadata":"spec"}},`+
		`"spec":{"resources":{"requests":{"storage":"1Gi"}}}}},"name":"scratch"},{"ephemeral":{},"name":"none"}]}}}}`, string(encoded))
	back, err := Template(revision(encoded))
	require.NoError(t, err)
	assert.True(t, apiequality.Semantic.DeepEqual(template, back))
}

func TestDataKeepsACreationTime(t *testing.T) {
	template := template("a:1")
	template.CreationTimestamp = metav1.Unix(0, 0)
	encoded, err := Data(template)
	require.NoError(t, err)
	assert.Contains(t, string(encoded), `"creationTimestamp":"1970-01-01T00:00:00Z"`)
}

// A revision of an earlier release has no creation time, and one of OpenKruise has it.
func TestSameDataIgnoresTheFormOfEqualTemplates(t *testing.T) {
	for _, created := range []string{``, `"creationTimestamp":null,`} {
		older := fmt.Appendf(nil, `{"spec":{"template":{"$patch":"replace","metadata":{%s"labels":{"app":"a"}},`+
			`"spec":{"containers":[{"image":"a:1","name":"main","resources":{}}]}}}}`, created)
		assert.True(t, same(older, data(t, "a:1")))
		assert.False(t, same(older, data(t, "a:2")))
		stored := revision(older)
		stored.Name = "a-old"
		resolution := PodTemplates.Resolve(&Content{Data: data(t, "a:1")}, []*appsv1.ControllerRevision{stored})
		assert.Equal(t, Resolution{Action: Reuse, Revision: stored}, resolution)
	}
	assert.False(t, same([]byte("{"), data(t, "a:2")))
}

func revision(data []byte) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}}
}

func same(a, b []byte) bool { return SamePodTemplate(revision(a), revision(b)) }

// Case cloneset 20.
func TestResolve(t *testing.T) {
	tests := map[string]struct {
		image    string
		existing int
		want     Action
		name     string
		number   int64
	}{
		"the first":                           {"image:1", 0, Create, "", 1},
		"the newest is reused":                {"image:7", 7, Reuse, "r7", 7},
		"revision 3 of 7 becomes 8":           {"image:3", 7, Bump, "r3", 8},
		"an unknown template is created last": {"image:9", 7, Create, "", 8},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := PodTemplates.Resolve(&Content{Data: data(t, tc.image)}, revisions(t, tc.existing))
			assert.Equal(t, tc.want, got.Action)
			assert.Equal(t, tc.number, got.Number)
			if tc.name != "" {
				assert.Equal(t, tc.name, got.Revision.Name)
			}
		})
	}
}

func TestNewNamesAndLabels(t *testing.T) {
	owner := &metav1.ObjectMeta{Name: strings.Repeat("n", 240), Namespace: "ns", Annotations: map[string]string{"note": "1"}}
	content := &Content{Data: data(t, "a:1"), Labels: template("a:1").Labels, Annotations: owner.Annotations}
	first := PodTemplates.New(owner, metav1.OwnerReference{UID: "u"}, content, 1, nil)
	second := PodTemplates.New(owner, metav1.OwnerReference{UID: "u"}, content, 1, ptr.To[int32](1))
	assert.Equal(t, strings.Repeat("n", 223)+"-"+first.Labels[pub.ControllerRevisionDataHashKey], first.Name)
	assert.NotEqual(t, first.Name, second.Name, "a collision gives another name")
	assert.Equal(t, "a", first.Labels["app"])
	assert.Equal(t, map[string]string{"note": "1"}, first.Annotations)
	assert.NotContains(t, content.Labels, pub.ControllerRevisionDataHashKey)
}

// Data of two different kinds may both decode to an empty Pod template. They are still different.
func TestDataWithoutAPodTemplateEqualsOnlyItself(t *testing.T) {
	a, b := []byte(`{"spec":{"containers":[{"name":"a"}]}}`), []byte(`{"spec":{"containers":[{"name":"b"}]}}`)
	assert.False(t, same(a, b))
	assert.True(t, same(a, a))
}

func TestHashIsThatOfBuiltInRevisions(t *testing.T) {
	// FNV-32 of "abc" is 1134309195. Each digit is encoded as one character.
	assert.Equal(t, "557874f5f9", DataHash([]byte("abc"), nil))
	assert.NotEqual(t, DataHash([]byte("abc"), nil), DataHash([]byte("abc"), ptr.To[int32](0)))
}

func TestMatches(t *testing.T) {
	tests := map[string]struct {
		label, revision string
		want            bool
	}{
		"full":           {"web-abc", "web-abc", true},
		"short":          {"abc", "web-abc", true},
		"another":        {"web-abd", "web-abc", false},
		"absent":         {"", "web-abc", false},
		"other owner":    {"web-2-abc", "web-abc", true},
		"prefix is none": {"web", "web-abc", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, Matches(tc.label, tc.revision)) })
	}
}

func TestTrimKeepsLiveRevisions(t *testing.T) {
	live := func(r *appsv1.ControllerRevision) bool { return r.Name == "r1" || r.Name == "r7" }
	var names []string
	for _, r := range Trim(revisions(t, 7), live, 2) {
		names = append(names, r.Name)
	}
	assert.Equal(t, []string{"r2", "r3", "r4"}, names)
	assert.Empty(t, Trim(revisions(t, 3), live, 10))
}
