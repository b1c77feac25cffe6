package lifecycle

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

func podIn(state State, labels map[string]string, finalizers ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{pub.LifecycleStateKey: string(state)}, Finalizers: finalizers}}
	maps.Copy(pod.Labels, labels)
	return pod
}

func TestHookedAndAllHooked(t *testing.T) {
	two := &pub.LifecycleHook{LabelsHandler: map[string]string{"a": "1"}, FinalizersHandler: []string{"x/y"}}
	tests := map[string]struct {
		hook        *pub.LifecycleHook
		pod         *corev1.Pod
		hooked, all bool
	}{
		"absent hook":             {nil, podIn("", nil), false, false},
		"empty hook":              {&pub.LifecycleHook{}, podIn("", nil), false, true},
		"no marker":               {two, podIn("", nil), false, false},
		"the label alone":         {two, podIn("", map[string]string{"a": "1"}), true, false},
		"another value":           {two, podIn("", map[string]string{"a": "2"}), false, false},
		"both":                    {two, podIn("", map[string]string{"a": "1"}, "x/y"), true, true},
		"empty names are ignored": {&pub.LifecycleHook{FinalizersHandler: []string{""}}, podIn("", nil), false, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.hooked, Hooked(tc.hook, tc.pod), "hooked")
			assert.Equal(t, tc.all, AllHooked(tc.hook, tc.pod), "all hooked")
		})
	}
}

// Cases lifecycle 1, 2, 3, 11, 12, 14, 17.
func TestNext(t *testing.T) {
	preNormal := &pub.Lifecycle{PreNormal: &pub.LifecycleHook{LabelsHandler: map[string]string{"ok": "1"}}}
	update := &pub.Lifecycle{InPlaceUpdate: &pub.LifecycleHook{LabelsHandler: map[string]string{"hook": "on"}}}
	two := &pub.Lifecycle{InPlaceUpdate: &pub.LifecycleHook{LabelsHandler: map[string]string{"hook": "on", "too": "on"}}}
	on := map[string]string{"hook": "on"}
	tests := map[string]struct {
		hooks    *pub.Lifecycle
		pod      *corev1.Pod
		progress Progress
		want     State
	}{
		"not scheduled yet":                      {nil, podIn("PreparingNormal", nil), Progress{}, "PreparingNormal"},
		"scheduled":                              {nil, podIn("PreparingNormal", nil), Progress{Scheduled: true}, "Normal"},
		"preNormal holds":                        {preNormal, podIn("PreparingNormal", nil), Progress{Scheduled: true}, "PreparingNormal"},
		"preNormal releases":                     {preNormal, podIn("PreparingNormal", map[string]string{"ok": "1"}), Progress{}, "Normal"},
		"in progress":                            {update, podIn("Updating", nil), Progress{AtTarget: true}, "Updating"},
		"complete, without the label":            {update, podIn("Updating", nil), Progress{AtTarget: true, Complete: true}, "Updated"},
		"the label is back":                      {update, podIn("Updated", on), Progress{AtTarget: true, Complete: true}, "Normal"},
		"rolled back while it waits":             {update, podIn("PreparingUpdate", on), Progress{AtTarget: true, Complete: true}, "Normal"},
		"rolled back after a marker was removed": {two, podIn("PreparingUpdate", on), Progress{AtTarget: true, Complete: true}, "Normal"},
		"the hook is gone":                       {nil, podIn("Updated", nil), Progress{AtTarget: true, Complete: true}, "Normal"},
		"label there at completion":              {update, podIn("Updating", on), Progress{AtTarget: true, Complete: true}, "Normal"},
		"a hook for deletion alone is no detour": {&pub.Lifecycle{}, podIn("Updating", nil), Progress{Complete: true}, "Normal"},
		"waits for its update":                   {update, podIn("PreparingUpdate", on), Progress{Complete: true}, "PreparingUpdate"},
		"held before deletion":                   {nil, podIn("PreparingDelete", nil), Progress{AtTarget: true, Complete: true}, "PreparingDelete"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, Next(tc.hooks, tc.pod, tc.progress)) })
	}
}

// Case lifecycle 19.
func TestSpecifiedDeleteIsByPresence(t *testing.T) {
	assert.True(t, SpecifiedDelete(podIn("", map[string]string{pub.SpecifiedDeleteKey: "false"})))
	assert.False(t, SpecifiedDelete(podIn("", nil)))
}

// Case lifecycle 13.
func TestPreparingPutsTheMarkersBack(t *testing.T) {
	hook := &pub.LifecycleHook{LabelsHandler: map[string]string{"a": "1"}, FinalizersHandler: []string{"x/y"}}
	pod := podIn("Updated", nil, "x/y")
	Mark(hook, pod)
	assert.True(t, AllHooked(hook, pod))
	assert.Equal(t, []string{"x/y"}, pod.Finalizers)
}
