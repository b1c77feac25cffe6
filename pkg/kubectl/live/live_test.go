package live

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kruise.io/kruise/pkg/kubectl/kubectltest/golden"
	"kruise.io/kruise/pkg/kubectl/workload"
)

// model returns a rollout of 4 Pods. Some of them are updated and available.
func model(t *testing.T, updated, available int64, pods ...*corev1.Pod) Model {
	t.Helper()
	w, err := workload.Of(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "generation": int64(3)},
		"spec":     map[string]any{"replicas": int64(4)},
		"status": map[string]any{
			"observedGeneration": int64(3), "updateRevision": "web-new", "updatedReplicas": updated,
			"updatedAvailableReplicas": available, "readyReplicas": int64(3), "availableReplicas": int64(3),
		},
	}})
	require.NoError(t, err)
	progress, err := w.Progress()
	require.NoError(t, err)
	return Model{Workload: w, Progress: progress, Pods: pods}
}

func pod(name, revision, waiting string, ready corev1.ConditionStatus) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"controller-revision-hash": revision}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
	if waiting != "" {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waiting}}}}
	}
	return pod
}

// Case kubectl-plugin 32.
func TestView(t *testing.T) {
	many := model(t, 1, 1)
	for i := range 15 {
		many.Pods = append(many.Pods, pod(fmt.Sprintf("web-with-a-name-that-is-much-longer-than-the-column-%02d", i), "web-old", "", corev1.ConditionTrue))
	}
	held := pod("web-3", "web-old", "", corev1.ConditionTrue)
	held.Labels["lifecycle.apps.kruise.io/state"] = "PreparingDelete"
	running := model(t, 2, 1,
		pod("web-1", "web-new", "", corev1.ConditionTrue), pod("web-2", "web-new", "ImagePullBackOff", corev1.ConditionFalse), held)
	running.Notice = "paused"
	stuck := model(t, 2, 1, pod("web-2", "web-new", "ImagePullBackOff", corev1.ConditionFalse))
	stuck.Why = "CloneSet web waits for Pod web-2, whose container main cannot pull image registry.example/team/app:none: not found; " +
		"correct the image, or run: kubectl kruise rollout undo clonesets.apps.kruise.io/web. " + strings.Repeat("More words follow. ", 9)
	done := model(t, 4, 4)
	done.Why = "CloneSet web is complete"
	for name, m := range map[string]Model{
		"stuck.txt": stuck, "running.txt": running, "done.txt": done, "many.txt": many, "deleted.txt": {Ended: "CloneSet web was deleted"},
	} {
		text := View(&m)
		golden.Compare(t, name, text)
		for line := range strings.Lines(text) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80)
		}
	}
}

// What the rollout waits for stays on the screen while the rest changes.
// Case kubectl-plugin 32.
func TestReasonStays(t *testing.T) {
	p := program{ctx: t.Context(), model: model(t, 1, 1)}
	explained, _ := p.Update(reason("CloneSet web waits for a budget."))
	later, _ := explained.Update(update(model(t, 2, 1)))
	assert.Contains(t, later.View().Content, "2 of 4\n")
	assert.Contains(t, later.View().Content, "\nCloneSet web waits for a budget.\n")
}

// Case kubectl-plugin 32: the keys.
func TestKeys(t *testing.T) {
	say := func(text string) func(context.Context) string { return func(context.Context) string { return text } }
	p := program{ctx: t.Context(), model: model(t, 1, 1), actions: actions{pause: say("paused"), resume: say("resumed"), undo: say("rolled back")}}
	for key, want := range map[rune]string{'p': "paused", 'r': "resumed", 'u': "rolled back"} {
		same, command := p.Update(tea.KeyPressMsg{Code: key, Text: string(key)})
		require.NotNil(t, command)
		after, _ := same.Update(command())
		assert.Contains(t, after.View().Content, want+"\n")
		after, _ = after.Update(update(model(t, 2, 2)))
		assert.Contains(t, after.View().Content, "2 of 4")
		assert.Contains(t, after.View().Content, want+"\n", "the notice stays when the rollout goes on")
	}
	_, quit := p.Update(tea.KeyPressMsg{Code: 'q', Text: "q"})
	require.NotNil(t, quit)
	assert.Equal(t, tea.Quit(), quit())
	_, other := p.Update(tea.KeyPressMsg{Code: 'x', Text: "x"})
	assert.Nil(t, other)
	_, gone := p.Update(update{Ended: "CloneSet web was deleted"})
	require.NotNil(t, gone)
	assert.Equal(t, tea.Quit(), gone())
}

// A reason that is longer than its lines ends with one sign of omission.
func TestLongReasonIsCut(t *testing.T) {
	lines := wrap(strings.Repeat("waiting ", 100))
	require.Len(t, lines, whyLines)
	for _, line := range lines {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), width)
	}
	assert.Equal(t, 1, strings.Count(lines[whyLines-1], "…"))
	assert.True(t, strings.HasSuffix(lines[whyLines-1], "…"))
}
