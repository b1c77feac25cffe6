package install_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/install"
	"kruise.io/kruise/pkg/apis/pub"
)

// budget has the annotation and the field of the total, each where it is not empty.
func budget(annotation string, field int32) *policy.PodUnavailableBudget {
	b := &policy.PodUnavailableBudget{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"mine": "x"}}}
	if annotation != "" {
		b.Annotations[pub.PubProtectTotalReplicasKey] = annotation
	}
	if field != 0 {
		b.Spec.ProtectTotalReplicas = new(field)
	}
	return b
}

func TestAgreeOnProtection(t *testing.T) {
	tests := map[string]struct {
		old, written, want *policy.PodUnavailableBudget
	}{
		"created with neither":      {nil, budget("", 0), budget("", 0)},
		"created with annotation":   {nil, budget("15", 0), budget("15", 15)},
		"created with field":        {nil, budget("", 15), budget("", 15)},
		"created with both":         {nil, budget("15", 16), budget("15", 16)},
		"created with no number":    {nil, budget("many", 0), budget("many", 0)},
		"nothing changes":           {budget("15", 15), budget("15", 15), budget("15", 15)},
		"annotation is added":       {budget("", 0), budget("15", 0), budget("15", 15)},
		"annotation changes":        {budget("15", 15), budget("20", 15), budget("20", 20)},
		"annotation goes":           {budget("15", 15), budget("", 15), budget("", 0)},
		"annotation has no effect":  {budget("15", 15), budget("0", 15), budget("0", 0)},
		"field changes":             {budget("15", 15), budget("15", 20), budget("20", 20)},
		"annotation is repeated":    {budget("15", 15), budget("15", 0), budget("15", 15)},
		"both go":                   {budget("15", 15), budget("", 0), budget("", 0)},
		"field alone changes":       {budget("", 15), budget("", 20), budget("", 20)},
		"both change, and disagree": {budget("15", 15), budget("20", 30), budget("20", 30)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var before *policy.PodUnavailableBudget
			if test.old != nil {
				before = test.old.DeepCopy()
			}
			install.AgreeOnProtection(test.written, test.old)
			assert.Equal(t, test.want, test.written)
			assert.Equal(t, before, test.old)
		})
	}
}

// A client that knows v1alpha1 alone replaces the budget. It can neither see nor say these fields.
func TestUpdateInAnOldVersionKeepsNewFields(t *testing.T) {
	stored := &policy.PodUnavailableBudget{Spec: policy.PodUnavailableBudgetSpec{
		IgnoredPodSelector:         &metav1.LabelSelector{MatchLabels: map[string]string{"batch": "true"}},
		UnhealthyPodEvictionPolicy: new(policy.IfHealthyBudget),
	}}
	for version, kept := range map[string]bool{"v1alpha1": true, "v1beta1": false} {
		written := &policy.PodUnavailableBudget{}
		install.KeepPodUnavailableBudget(version, written, stored)
		assert.Equal(t, kept, written.Spec.IgnoredPodSelector != nil, version)
		assert.Equal(t, kept, written.Spec.UnhealthyPodEvictionPolicy != nil, version)
	}
	changed := stored.DeepCopy()
	changed.Spec.IgnoredPodSelector = &metav1.LabelSelector{}
	install.KeepPodUnavailableBudget("v1alpha1", changed, stored)
	assert.Equal(t, &metav1.LabelSelector{}, changed.Spec.IgnoredPodSelector, "the annotation sets it")
}
