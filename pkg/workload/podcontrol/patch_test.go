package podcontrol

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// running is a Pod as the kubelet reports it.
func running() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", UID: "uid", ResourceVersion: "7", Labels: map[string]string{"app": "a", "old": "x"},
			Annotations: map[string]string{"note": "n"}, Finalizers: []string{"example.com/a"},
		},
		Spec: corev1.PodSpec{
			NodeName:       "node",
			InitContainers: []corev1.Container{{Name: "init", Image: "init:v1"}},
			Containers:     []corev1.Container{{Name: "main", Image: "main:v1"}, {Name: "side", Image: "side:v1"}},
			Volumes:        []corev1.Volume{{Name: "data"}},
		},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", ContainerID: "c1"}, {Name: "side", ContainerID: "c2"}},
		},
	}
}

// TestPatchMakesTheWantedPod applies patches as the API server does. A patch contains its preconditions, and nothing that stays.
func TestPatchMakesTheWantedPod(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		exact  bool
		want   string
	}{
		"nothing":          {func(*corev1.Pod) {}, false, `{"metadata":{"uid":"uid"}}`},
		"nothing, exactly": {func(*corev1.Pod) {}, true, `{"metadata":{"uid":"uid","resourceVersion":"7"}}`},
		"a label goes":     {func(pod *corev1.Pod) { delete(pod.Labels, "old") }, false, `{"metadata":{"uid":"uid","labels":{"old":null}}}`},
		"all labels go":    {func(pod *corev1.Pod) { pod.Labels = nil }, false, `{"metadata":{"uid":"uid","labels":null}}`},
		"an annotation":    {func(pod *corev1.Pod) { pod.Annotations["b"] = "c" }, false, `{"metadata":{"uid":"uid","annotations":{"b":"c"}}}`},
		"finalizers go":    {func(pod *corev1.Pod) { pod.Finalizers = nil }, false, `{"metadata":{"uid":"uid","finalizers":null}}`},
		"an image": {
			func(pod *corev1.Pod) { pod.Spec.Containers[1].Image = "side:v2" }, true,
			`{"metadata":{"uid":"uid","resourceVersion":"7"},"spec":{"$setElementOrder/containers":[{"name":"main"},{"name":"side"}],"containers":[{"name":"side","image":"side:v2"}]}}`,
		},
		"a condition": {
			func(pod *corev1.Pod) {
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: "InPlaceUpdateReady", Status: "False"})
			}, false,
			`{"metadata":{"uid":"uid"},"status":{"$setElementOrder/conditions":[{"type":"Ready"},{"type":"InPlaceUpdateReady"}],
			  "conditions":[{"type":"InPlaceUpdateReady","status":"False","lastProbeTime":null,"lastTransitionTime":null}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := running(), running()
			test.change(after)
			wanted := after.DeepCopy()
			patch, err := Patch(before, after, test.exact)
			require.NoError(t, err)
			assert.Equal(t, running(), before, "the arguments stay")
			assert.Equal(t, wanted, after)
			assert.JSONEq(t, test.want, string(patch))
			stored, err := json.Marshal(before)
			require.NoError(t, err)
			patched, err := strategicpatch.StrategicMergePatch(stored, patch, corev1.Pod{})
			require.NoError(t, err)
			var pod corev1.Pod
			require.NoError(t, json.Unmarshal(patched, &pod))
			assert.Equal(t, wanted, &pod)
		})
	}
}

func BenchmarkPatch(b *testing.B) {
	before, after := running(), running()
	after.Spec.Containers[1].Image = "side:v2"
	for b.Loop() {
		if _, err := Patch(before, after, true); err != nil {
			b.Fatal(err)
		}
	}
}
