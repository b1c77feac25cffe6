package history

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
	assert.JSONEq(t, `{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"a"}},
		"spec":{"containers":[{"name":"main","image":"a:1","resources":{}}]}}}}`, string(encoded))
	back, err := Template(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: encoded}})
	require.NoError(t, err)
	assert.Equal(t, template("a:1"), back)
}

func TestSameDataIgnoresTheFormOfEqualTemplates(t *testing.T) {
	older := []byte(`{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"a"}},` +
		`"spec":{"containers":[{"image":"a:1","name":"main","resources":{}}]}}}}`)
	assert.True(t, SamePodTemplate(older, data(t, "a:1")))
	assert.False(t, SamePodTemplate(older, data(t, "a:2")))
	assert.False(t, SamePodTemplate([]byte("{"), data(t, "a:2")))
}

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
			got := PodTemplates.Resolve(data(t, tc.image), revisions(t, tc.existing))
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
	assert.False(t, SamePodTemplate(a, b))
	assert.True(t, SamePodTemplate(a, a))
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
