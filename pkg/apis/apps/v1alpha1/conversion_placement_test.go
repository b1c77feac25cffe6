package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Case workloadspread 23.
func TestFieldsOfASubsetAreRenamed(t *testing.T) {
	term := &corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: "Exists"}}}
	preferred := []corev1.PreferredSchedulingTerm{{Weight: 5, Preference: *term}}
	written := &v1alpha1.WorkloadSpread{Spec: v1alpha1.WorkloadSpreadSpec{Subsets: []v1alpha1.WorkloadSpreadSubset{{
		Name: "a", RequiredNodeSelectorTerm: term, PreferredNodeSelectorTerms: preferred,
		Patch: &runtime.RawExtension{Raw: []byte(`{ "b":1,"a":2}`)},
	}}}}
	form := &runtime.RawExtension{Raw: []byte(`{"a":2,"b":1}`)}
	beta, alpha := &v1beta1.WorkloadSpread{}, &v1alpha1.WorkloadSpread{}
	convert(t, written, &apps.WorkloadSpread{}, beta)
	assert.Equal(t, v1beta1.WorkloadSpreadSubset{
		Name: "a", RequiredNodeSelector: term, PreferredNodeSelector: preferred, Patch: form,
	}, beta.Spec.Subsets[0])
	convert(t, beta, &apps.WorkloadSpread{}, alpha)
	assert.Equal(t, v1alpha1.WorkloadSpreadSubset{
		Name: "a", RequiredNodeSelectorTerm: term, PreferredNodeSelectorTerms: preferred, Patch: form,
	}, alpha.Spec.Subsets[0])
}

func TestConditionOfASubsetHasAReasonInV1beta1(t *testing.T) {
	subsets := func(reason string) []v1alpha1.WorkloadSpreadSubsetStatus {
		return []v1alpha1.WorkloadSpreadSubsetStatus{{Name: "a", Conditions: []v1alpha1.WorkloadSpreadSubsetCondition{
			{Type: v1alpha1.SubsetSchedulable, Status: "True", Reason: reason},
		}}}
	}
	for reason, want := range map[string]string{"": "Unknown", "Sufficient": "Sufficient"} {
		written := &v1alpha1.WorkloadSpread{Status: v1alpha1.WorkloadSpreadStatus{
			SubsetStatuses:          subsets(reason),
			VersionedSubsetStatuses: map[string]v1alpha1.WorkloadSpreadSubsetStatuses{"none": nil, "revision": subsets(reason)},
		}}
		before := written.DeepCopy()
		beta, alpha := &v1beta1.WorkloadSpread{}, &v1alpha1.WorkloadSpread{}
		convert(t, written, &apps.WorkloadSpread{}, beta)
		assert.Equal(t, want, beta.Status.SubsetStatuses[0].Conditions[0].Reason)
		assert.Equal(t, want, beta.Status.VersionedSubsetStatuses["revision"][0].Conditions[0].Reason)
		assert.Equal(t, before, written, "conversion must not change what it reads")
		convert(t, beta, &apps.WorkloadSpread{}, alpha)
		assert.Equal(t, written, alpha)
	}
}

func TestTopologyKeysAreRenamed(t *testing.T) {
	written := &v1alpha1.PersistentPodState{Spec: v1alpha1.PersistentPodStateSpec{
		RequiredPersistentTopology: &v1alpha1.NodeTopologyTerm{NodeTopologyKeys: []string{"a"}},
		PreferredPersistentTopology: []v1alpha1.PreferredTopologyTerm{
			{Weight: 7, Preference: v1alpha1.NodeTopologyTerm{NodeTopologyKeys: []string{"b", "c"}}},
		},
	}}
	beta, alpha := &v1beta1.PersistentPodState{}, &v1alpha1.PersistentPodState{}
	convert(t, written.DeepCopy(), &apps.PersistentPodState{}, beta)
	assert.Equal(t, []string{"a"}, beta.Spec.RequiredPersistentTopology.Keys)
	assert.Equal(t, []v1beta1.PreferredTopologyTerm{{Weight: 7, Preference: v1beta1.NodeTopologyTerm{Keys: []string{"b", "c"}}}},
		beta.Spec.PreferredPersistentTopology)
	assert.Empty(t, beta.Spec.PersistentPodStateRetentionPolicy, "empty stays empty: it means WhenScaled")
	convert(t, beta, &apps.PersistentPodState{}, alpha)
	assert.Equal(t, written, alpha)
}

func TestFieldsOfADistributionAreRenamed(t *testing.T) {
	selector := metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	written := &v1alpha1.ResourceDistribution{
		Spec: v1alpha1.ResourceDistributionSpec{
			Resource: runtime.RawExtension{Raw: []byte(`{"kind":"ConfigMap", "apiVersion":"v1"}`)},
			Targets:  v1alpha1.ResourceDistributionTargets{NamespaceLabelSelector: selector},
		},
		Status: v1alpha1.ResourceDistributionStatus{
			Conditions: []v1alpha1.ResourceDistributionCondition{{Type: "A", FailedNamespace: []string{"n"}}},
		},
	}
	beta, alpha := &v1beta1.ResourceDistribution{}, &v1alpha1.ResourceDistribution{}
	convert(t, written.DeepCopy(), &apps.ResourceDistribution{}, beta)
	assert.JSONEq(t, `{"apiVersion":"v1","kind":"ConfigMap"}`, string(beta.Spec.Resource.Raw))
	assert.Equal(t, selector, beta.Spec.Targets.NamespaceSelector)
	assert.Equal(t, []string{"n"}, beta.Status.Conditions[0].FailedNamespaces)
	convert(t, beta, &apps.ResourceDistribution{}, alpha)
	written.Spec.Resource.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap"}`)
	assert.Equal(t, written, alpha)
}
