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
	require.Equal(t, written.Annotations, beta.Annotations, "the selector says it all")
	require.Equal(t, before, sidecarSetToAlpha(t, beta), "v1alpha1 sees what it wrote")
	require.Equal(t, before, written, "conversion must not change what it reads")
}

// So a manifest with the namespace can be applied to a SidecarSet that v1beta1 or OpenKruise created, and changes nothing.
// Case sidecarset 9.
func TestSelectorForANameIsANamespaceInV1alpha1(t *testing.T) {
	more := func(edit func(*metav1.LabelSelector)) *metav1.LabelSelector {
		selector := selectName("ns1")
		edit(selector)
		return selector
	}
	for name, test := range map[string]struct {
		selector  *metav1.LabelSelector
		namespace string
	}{
		"a name":               {selectName("ns1"), "ns1"},
		"all namespaces":       {nil, ""},
		"no name":              {selectName(""), ""},
		"not a namespace name": {selectName("NS_1"), ""},
		"another label too":    {more(func(s *metav1.LabelSelector) { s.MatchLabels["a"] = "b" }), ""},
		"another label":        {&metav1.LabelSelector{MatchLabels: map[string]string{"a": "ns1"}}, ""},
		"an expression too": {more(func(s *metav1.LabelSelector) {
			s.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}}
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			beta := &v1beta1.SidecarSet{Spec: v1beta1.SidecarSetSpec{NamespaceSelector: test.selector}}
			alpha := sidecarSetToAlpha(t, beta)
			require.Equal(t, test.namespace, alpha.Spec.Namespace)
			if test.namespace == "" {
				require.Equal(t, test.selector, alpha.Spec.NamespaceSelector)
			} else {
				require.Nil(t, alpha.Spec.NamespaceSelector)
			}
			require.Equal(t, beta, sidecarSetToBeta(t, alpha))
		})
	}
}

// A client of v1alpha1 that writes the selector reads the selector. Otherwise, its next apply would set both.
// Case sidecarset 9.
func TestSelectorForANameIsKeptForV1alpha1(t *testing.T) {
	written := &v1alpha1.SidecarSet{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b"}},
		Spec:       v1alpha1.SidecarSetSpec{NamespaceSelector: selectName("ns1")},
	}
	beta := sidecarSetToBeta(t, written)
	require.Equal(t, selectName("ns1"), beta.Spec.NamespaceSelector)
	require.JSONEq(t, `{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ns1"}}}`, beta.Annotations[v1beta1.KeptFieldsAnnotation])
	require.Equal(t, written, sidecarSetToAlpha(t, beta))

	for name, test := range map[string]struct {
		edit         func(*v1beta1.SidecarSet)
		wantName     string
		wantSelector *metav1.LabelSelector
	}{
		"another field":         {func(s *v1beta1.SidecarSet) { s.Spec.CustomVersion = "v2" }, "", selectName("ns1")},
		"another namespace":     {func(s *v1beta1.SidecarSet) { s.Spec.NamespaceSelector = selectName("ns2") }, "ns2", nil},
		"all namespaces":        {func(s *v1beta1.SidecarSet) { s.Spec.NamespaceSelector = nil }, "", nil},
		"annotation removed":    {func(s *v1beta1.SidecarSet) { s.Annotations = nil }, "ns1", nil},
		"annotation of another": {func(s *v1beta1.SidecarSet) { s.Annotations[v1beta1.KeptFieldsAnnotation] = "mine" }, "ns1", nil},
		"annotation is empty":   {func(s *v1beta1.SidecarSet) { s.Annotations[v1beta1.KeptFieldsAnnotation] = "{}" }, "ns1", nil},
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

// The client read the namespace, because v1beta1 or OpenKruise wrote the selector, and its manifest has the selector.
func TestNamespaceGivesWayToASelectorForIt(t *testing.T) {
	for name, test := range map[string]struct {
		selector *metav1.LabelSelector
		want     string
	}{
		"for it":           {selectName("ns1"), ""},
		"for another name": {selectName("ns2"), "ns1"},
		"for a label":      {&metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, "ns1"},
	} {
		t.Run(name, func(t *testing.T) {
			written, hub := &v1alpha1.SidecarSet{Spec: v1alpha1.SidecarSetSpec{Namespace: "ns1", NamespaceSelector: test.selector}}, &apps.SidecarSet{}
			require.NoError(t, newScheme(t).Convert(written, hub, nil))
			require.Equal(t, test.want, hub.Spec.Namespace, "validation refuses both")
			require.Equal(t, test.selector, hub.Spec.NamespaceSelector)
		})
	}
}

// The label stays, so that SidecarSets can be selected by it in both versions.
func TestCustomVersion(t *testing.T) {
	const key = pub.SidecarSetCustomVersionKey
	for name, test := range map[string]struct {
		labels map[string]string
		want   string
	}{
		"no label":    {nil, ""},
		"label":       {map[string]string{key: "v1", "a": "b"}, "v1"},
		"empty label": {map[string]string{key: ""}, ""},
	} {
		t.Run("from v1alpha1: "+name, func(t *testing.T) {
			written := &v1alpha1.SidecarSet{ObjectMeta: metav1.ObjectMeta{Labels: test.labels}}
			before := written.DeepCopy()
			beta := sidecarSetToBeta(t, written)
			require.Equal(t, test.want, beta.Spec.CustomVersion)
			require.Equal(t, test.labels, beta.Labels)
			require.Equal(t, before, written, "conversion must not change what it reads")
			require.Equal(t, before, sidecarSetToAlpha(t, beta))
		})
	}
	for name, test := range map[string]struct {
		version      string
		labels, want map[string]string
	}{
		"field":            {"v2", map[string]string{"a": "b"}, map[string]string{"a": "b", key: "v2"}},
		"field over label": {"v2", map[string]string{key: "v1"}, map[string]string{key: "v2"}},
		"label alone":      {"", map[string]string{key: "v1", "a": "b"}, map[string]string{key: "v1", "a": "b"}},
	} {
		t.Run("to v1alpha1: "+name, func(t *testing.T) {
			written := &v1beta1.SidecarSet{ObjectMeta: metav1.ObjectMeta{Labels: test.labels}, Spec: v1beta1.SidecarSetSpec{CustomVersion: test.version}}
			before := written.DeepCopy()
			require.Equal(t, test.want, sidecarSetToAlpha(t, written).Labels)
			require.Equal(t, before, written)
		})
	}
}

// A write through v1alpha1 that changes nothing does not store the label.
func TestShownCustomVersionIsNotStored(t *testing.T) {
	const key = pub.SidecarSetCustomVersionKey
	for name, test := range map[string]struct {
		edit   func(*v1alpha1.SidecarSet)
		labels map[string]string
		want   string
	}{
		"untouched": {func(*v1alpha1.SidecarSet) {}, map[string]string{"a": "b"}, "v1"},
		"changed":   {func(s *v1alpha1.SidecarSet) { s.Labels[key] = "v2" }, map[string]string{"a": "b", key: "v2"}, "v2"},
		"removed":   {func(s *v1alpha1.SidecarSet) { delete(s.Labels, key) }, map[string]string{"a": "b"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			alpha := sidecarSetToAlpha(t, &v1beta1.SidecarSet{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: v1beta1.SidecarSetSpec{CustomVersion: "v1"},
			})
			require.Equal(t, "v1", alpha.Labels[key])
			require.JSONEq(t, `{"shown":{"`+key+`":"v1"}}`, alpha.Annotations[v1alpha1.KeptFieldsAnnotation])
			test.edit(alpha)
			beta := sidecarSetToBeta(t, alpha)
			require.Equal(t, test.labels, beta.Labels)
			require.Equal(t, test.want, beta.Spec.CustomVersion)
			require.Empty(t, beta.Annotations)
		})
	}
}
