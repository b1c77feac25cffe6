package subset_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/workload/subset"
)

func in(key string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpExists}
}

func terms(all ...corev1.NodeSelectorTerm) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: all},
	}}
}

func expressions(keys ...string) (term corev1.NodeSelectorTerm) {
	for _, key := range keys {
		term.MatchExpressions = append(term.MatchExpressions, in(key))
	}
	return term
}

func TestEveryRequiredTermGetsTheRequirements(t *testing.T) {
	field := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name")}}
	for name, test := range map[string]struct {
		affinity *corev1.Affinity
		add      corev1.NodeSelectorTerm
		want     *corev1.Affinity
	}{
		"no affinity":     {nil, expressions("zone"), terms(expressions("zone"))},
		"two terms":       {terms(expressions("a"), expressions("b")), expressions("zone"), terms(expressions("a", "zone"), expressions("b", "zone"))},
		"no requirements": {nil, corev1.NodeSelectorTerm{}, nil},
		"fields":          {nil, field, terms(field)},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &corev1.PodSpec{Affinity: test.affinity}
			for range 2 { // The second time changes nothing.
				subset.Require(spec, &test.add)
				assert.Equal(t, test.want, spec.Affinity)
			}
		})
	}
}

func TestSecondUseChangesNothing(t *testing.T) {
	preferred := []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: expressions("a")}}
	tolerations := []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
	spec := &corev1.PodSpec{}
	for range 2 {
		subset.Prefer(spec, preferred)
		subset.Tolerate(spec, tolerations)
		assert.Equal(t, preferred, spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		assert.Equal(t, tolerations, spec.Tolerations)
	}
}

func TestPatchOfAPodTemplate(t *testing.T) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a:1"}, {Name: "b", Image: "b:1"}}}}
	require.NoError(t, subset.Patch(&template, []byte(`{"metadata":{"labels":{"k":"v"}},"spec":{"containers":[{"name":"b","image":"b:2"}]}}`)))
	assert.Equal(t, map[string]string{"k": "v"}, template.Labels)
	images := map[string]string{}
	for _, c := range template.Spec.Containers {
		images[c.Name] = c.Image
	}
	assert.Equal(t, map[string]string{"a": "a:1", "b": "b:2"}, images)
	require.NoError(t, subset.Patch(&template, nil))
	assert.Error(t, subset.Patch(&template, []byte(`{"spec":1}`)))
}

func TestPodThatWaitsTooLongIsUnschedulable(t *testing.T) {
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		edit func(*corev1.Pod)
		age  time.Duration
		want bool
		left time.Duration
	}{
		"long enough":      {func(*corev1.Pod) {}, 30 * time.Second, true, 0},
		"not long enough":  {func(*corev1.Pod) {}, 29 * time.Second, false, time.Second},
		"has a node":       {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, time.Hour, false, 0},
		"is being deleted": {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: created} }, time.Hour, false, 0},
		"has ended":        {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, time.Hour, false, 0},
		"not tried yet":    {func(p *corev1.Pod) { p.Status.Conditions = nil }, time.Hour, false, 0},
		"waits for a gate": {func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated }, time.Hour, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)},
				Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				}}},
			}
			test.edit(pod)
			got, left := subset.Unschedulable(pod, 30*time.Second, created.Add(test.age))
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.left, left)
		})
	}
}
