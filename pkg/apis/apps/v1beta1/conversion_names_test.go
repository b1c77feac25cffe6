package v1beta1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// readBack writes an object and reads it into out, which is of the same kind. hub is an empty object of the hub.
func readBack(t *testing.T, in, hub, out runtime.Object) {
	t.Helper()
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(apps.AddToScheme, v1beta1.AddToScheme, v1beta1.RegisterDefaults)
	require.NoError(t, builder.AddToScheme(scheme))
	before := in.DeepCopyObject()
	require.NoError(t, scheme.Convert(in, hub, nil))
	require.Equal(t, before, in, "conversion must not change what it reads")
	require.NoError(t, scheme.Convert(hub, out, nil))
}

// kubectl sends patches in v1beta1. One that was written for v1alpha1 has the same effect, and replaces what the object has.
func TestNodeSelectorsWithTheNamesOfV1alpha1(t *testing.T) {
	term := func(key string) *corev1.NodeSelectorTerm {
		return &corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpExists}}}
	}
	preferred := func(key string) []corev1.PreferredSchedulingTerm {
		return []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: *term(key)}}
	}
	for name, test := range map[string]struct{ written, want v1beta1.WorkloadSpreadSubset }{
		"names of v1beta1": {
			v1beta1.WorkloadSpreadSubset{RequiredNodeSelector: term("a"), PreferredNodeSelector: preferred("b")},
			v1beta1.WorkloadSpreadSubset{RequiredNodeSelector: term("a"), PreferredNodeSelector: preferred("b")},
		},
		"names of v1alpha1": {
			v1beta1.WorkloadSpreadSubset{RequiredNodeSelectorTerm: term("a"), PreferredNodeSelectorTerms: preferred("b")},
			v1beta1.WorkloadSpreadSubset{RequiredNodeSelector: term("a"), PreferredNodeSelector: preferred("b")},
		},
		"both": {
			v1beta1.WorkloadSpreadSubset{
				RequiredNodeSelector: term("a"), PreferredNodeSelector: preferred("b"),
				RequiredNodeSelectorTerm: term("c"), PreferredNodeSelectorTerms: preferred("d"),
			},
			v1beta1.WorkloadSpreadSubset{RequiredNodeSelector: term("c"), PreferredNodeSelector: preferred("d")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			written, read := &v1beta1.WorkloadSpread{}, &v1beta1.WorkloadSpread{}
			written.Spec.Subsets = []v1beta1.WorkloadSpreadSubset{test.written}
			readBack(t, written, &apps.WorkloadSpread{}, read)
			require.Equal(t, []v1beta1.WorkloadSpreadSubset{test.want}, read.Spec.Subsets)
		})
	}
}

func TestNamespaceSelectorWithTheNameOfV1alpha1(t *testing.T) {
	a := metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	c := metav1.LabelSelector{MatchLabels: map[string]string{"c": "d"}}
	for name, test := range map[string]struct {
		written v1beta1.ResourceDistributionTargets
		want    metav1.LabelSelector
	}{
		"name of v1beta1":         {v1beta1.ResourceDistributionTargets{NamespaceSelector: a}, a},
		"name of v1alpha1":        {v1beta1.ResourceDistributionTargets{NamespaceLabelSelector: &a}, a},
		"both":                    {v1beta1.ResourceDistributionTargets{NamespaceSelector: a, NamespaceLabelSelector: &c}, c},
		"name of v1alpha1, empty": {v1beta1.ResourceDistributionTargets{NamespaceSelector: a, NamespaceLabelSelector: &metav1.LabelSelector{}}, metav1.LabelSelector{}},
	} {
		t.Run(name, func(t *testing.T) {
			written, read := &v1beta1.ResourceDistribution{}, &v1beta1.ResourceDistribution{}
			written.Spec.Targets = test.written
			readBack(t, written, &apps.ResourceDistribution{}, read)
			require.Equal(t, v1beta1.ResourceDistributionTargets{NamespaceSelector: test.want}, read.Spec.Targets)
		})
	}
}

func TestTopologyKeysWithTheNameOfV1alpha1(t *testing.T) {
	for name, test := range map[string]struct{ written, want v1beta1.NodeTopologyTerm }{
		"name of v1beta1":  {v1beta1.NodeTopologyTerm{Keys: []string{"a"}}, v1beta1.NodeTopologyTerm{Keys: []string{"a"}}},
		"name of v1alpha1": {v1beta1.NodeTopologyTerm{NodeTopologyKeys: []string{"a"}}, v1beta1.NodeTopologyTerm{Keys: []string{"a"}}},
		"both": {
			v1beta1.NodeTopologyTerm{Keys: []string{"a"}, NodeTopologyKeys: []string{"b", "c"}}, v1beta1.NodeTopologyTerm{Keys: []string{"b", "c"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			written, read := &v1beta1.PersistentPodState{}, &v1beta1.PersistentPodState{}
			written.Spec.RequiredPersistentTopology = &test.written
			written.Spec.PreferredPersistentTopology = []v1beta1.PreferredTopologyTerm{{Weight: 1, Preference: test.written}}
			readBack(t, written, &apps.PersistentPodState{}, read)
			require.Equal(t, &test.want, read.Spec.RequiredPersistentTopology)
			require.Equal(t, test.want, read.Spec.PreferredPersistentTopology[0].Preference)
		})
	}
}

// The namespace also replaces a selector that was written through v1alpha1 and is kept in the annotation.
func TestNamespaceOfASidecarSetOfV1alpha1(t *testing.T) {
	named := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}
	}
	kept := map[string]string{v1beta1.KeptFieldsAnnotation: `{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ns1"}}}`}
	for name, test := range map[string]struct {
		annotations map[string]string
		selector    *metav1.LabelSelector
		namespace   string
		want        apps.SidecarSetSpec
	}{
		"a namespace":                    {nil, nil, "ns2", apps.SidecarSetSpec{Namespace: "ns2"}},
		"a namespace beside a selector":  {nil, named("ns1"), "ns2", apps.SidecarSetSpec{Namespace: "ns2"}},
		"a namespace beside a kept one":  {kept, named("ns1"), "ns2", apps.SidecarSetSpec{Namespace: "ns2"}},
		"a namespace of an invalid name": {nil, nil, "NS_2", apps.SidecarSetSpec{Namespace: "NS_2"}},
		"a selector":                     {nil, named("ns1"), "", apps.SidecarSetSpec{Namespace: "ns1"}},
		"a kept selector":                {kept, named("ns1"), "", apps.SidecarSetSpec{NamespaceSelector: named("ns1")}},
	} {
		t.Run(name, func(t *testing.T) {
			written := &v1beta1.SidecarSet{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}}
			written.Spec.NamespaceSelector, written.Spec.Namespace = test.selector, test.namespace
			hub, read := &apps.SidecarSet{}, &v1beta1.SidecarSet{}
			readBack(t, written, hub, read)
			require.Equal(t, test.want, hub.Spec)
			require.Empty(t, read.Spec.Namespace)
			require.NotNil(t, read.Spec.NamespaceSelector)
		})
	}
}
