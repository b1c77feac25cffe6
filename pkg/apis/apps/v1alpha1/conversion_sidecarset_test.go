package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

func sidecarSetToBeta(t *testing.T, in *v1alpha1.SidecarSet) *v1beta1.SidecarSet {
	t.Helper()
	scheme, hub, out := newScheme(t), &apps.SidecarSet{}, &v1beta1.SidecarSet{}
	require.NoError(t, scheme.Convert(in, hub, nil))
	require.NoError(t, scheme.Convert(hub, out, nil))
	return out
}

func sidecarSetToAlpha(t *testing.T, in *v1beta1.SidecarSet) *v1alpha1.SidecarSet {
	t.Helper()
	scheme, hub, out := newScheme(t), &apps.SidecarSet{}, &v1alpha1.SidecarSet{}
	require.NoError(t, scheme.Convert(in, hub, nil))
	require.NoError(t, scheme.Convert(hub, out, nil))
	return out
}

func selectName(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": name}}
}

func TestNamespaceOfASidecarSet(t *testing.T) {
	written := &v1alpha1.SidecarSet{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b"}}, Spec: v1alpha1.SidecarSetSpec{Namespace: "ns1"},
	}
	before := written.DeepCopy()
	beta := sidecarSetToBeta(t, written)
	require.Equal(t, selectName("ns1"), beta.Spec.NamespaceSelector)
	require.JSONEq(t, `{"namespace":"ns1"}`, beta.Annotations[v1beta1.KeptFieldsAnnotation])
	require.Equal(t, before, sidecarSetToAlpha(t, beta), "v1alpha1 sees what it wrote")
	require.Equal(t, before, written, "conversion must not change what it reads")

	for name, test := range map[string]struct {
		edit         func(*v1beta1.SidecarSet)
		wantName     string
		wantSelector *metav1.LabelSelector
	}{
		"another field":         {func(s *v1beta1.SidecarSet) { s.Spec.CustomVersion = "v2" }, "ns1", nil},
		"another namespace":     {func(s *v1beta1.SidecarSet) { s.Spec.NamespaceSelector = selectName("ns2") }, "", selectName("ns2")},
		"all namespaces":        {func(s *v1beta1.SidecarSet) { s.Spec.NamespaceSelector = nil }, "", nil},
		"annotation removed":    {func(s *v1beta1.SidecarSet) { s.Annotations = nil }, "", selectName("ns1")},
		"annotation of another": {func(s *v1beta1.SidecarSet) { s.Annotations[v1beta1.KeptFieldsAnnotation] = "mine" }, "", selectName("ns1")},
		"annotation is empty":   {func(s *v1beta1.SidecarSet) { s.Annotations[v1beta1.KeptFieldsAnnotation] = "{}" }, "", selectName("ns1")},
	} {
		t.Run("v1beta1 changes "+name, func(t *testing.T) {
			changed := beta.DeepCopy()
			test.edit(changed)
			alpha := sidecarSetToAlpha(t, changed)
			require.Equal(t, test.wantName, alpha.Spec.Namespace)
			require.Equal(t, test.wantSelector, alpha.Spec.NamespaceSelector)
		})
	}
}

func TestNamespaceSelectorIsTheSameInBoth(t *testing.T) {
	alpha := sidecarSetToAlpha(t, &v1beta1.SidecarSet{Spec: v1beta1.SidecarSetSpec{NamespaceSelector: selectName("ns1")}})
	require.Empty(t, alpha.Spec.Namespace)
	require.Equal(t, selectName("ns1"), alpha.Spec.NamespaceSelector)
	require.Empty(t, sidecarSetToBeta(t, alpha).Annotations)
}

func TestCustomVersion(t *testing.T) {
	const key = pub.SidecarSetCustomVersionKey
	for name, test := range map[string]struct {
		labels, left map[string]string
		want         string
	}{
		"no label":    {nil, nil, ""},
		"label":       {map[string]string{key: "v1", "a": "b"}, map[string]string{"a": "b"}, "v1"},
		"empty label": {map[string]string{key: ""}, map[string]string{key: ""}, ""},
	} {
		t.Run("from v1alpha1: "+name, func(t *testing.T) {
			written := &v1alpha1.SidecarSet{ObjectMeta: metav1.ObjectMeta{Labels: test.labels}}
			before := written.DeepCopy()
			beta := sidecarSetToBeta(t, written)
			require.Equal(t, test.want, beta.Spec.CustomVersion)
			require.Equal(t, test.left, beta.Labels)
			require.Equal(t, before, written, "conversion must not change what it reads")
			require.Equal(t, test.labels, sidecarSetToAlpha(t, beta).Labels)
		})
	}
	for name, test := range map[string]struct {
		version      string
		labels, want map[string]string
	}{
		"field":             {"v2", map[string]string{"a": "b"}, map[string]string{"a": "b", key: "v2"}},
		"field over label":  {"v2", map[string]string{key: "v1"}, map[string]string{key: "v2"}},
		"label of no field": {"", map[string]string{key: "v1", "a": "b"}, map[string]string{"a": "b"}},
	} {
		t.Run("to v1alpha1: "+name, func(t *testing.T) {
			written := &v1beta1.SidecarSet{ObjectMeta: metav1.ObjectMeta{Labels: test.labels}, Spec: v1beta1.SidecarSetSpec{CustomVersion: test.version}}
			before := written.DeepCopy()
			require.Equal(t, test.want, sidecarSetToAlpha(t, written).Labels)
			require.Equal(t, before, written)
		})
	}
}
