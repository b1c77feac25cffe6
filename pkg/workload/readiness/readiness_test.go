package readiness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

var (
	now     = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	restart = Key{UserAgent: "ContainerRecreateRequest", Key: "ns/again"}
)

// serving returns a ready Pod with the gate, and with the given condition if status is set.
func serving(status corev1.ConditionStatus, message string) *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: pub.KruisePodReadyConditionType}}}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if status != "" {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: pub.KruisePodReadyConditionType, Status: status, Message: message})
	}
	return pod
}

// Case lifecycle 8.
func TestAdd(t *testing.T) {
	const preDelete = `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`
	tests := map[string]struct {
		pod     *corev1.Pod
		changed bool
		message string
	}{
		"the first key":                        {serving("True", ""), true, preDelete},
		"no condition yet":                     {serving("", ""), true, preDelete},
		"it stands already":                    {serving("False", preDelete), false, preDelete},
		"it stands, and the condition is True": {serving("True", preDelete), true, preDelete},
		"an unreadable message":                {serving("True", "{"), true, preDelete},
		"sorted by agent and key, in any order": {
			serving("False", `[{"userAgent":"Z","key":"a"},{"userAgent":"Lifecycle","key":"z"}]`), true,
			`[{"userAgent":"Lifecycle","key":"preDeleteHook"},{"userAgent":"Lifecycle","key":"z"},{"userAgent":"Z","key":"a"}]`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.changed, Add(tc.pod, PreDelete, now))
			c := podstate.Condition(tc.pod, pub.KruisePodReadyConditionType)
			assert.Equal(t, corev1.ConditionFalse, c.Status)
			assert.Equal(t, tc.message, c.Message)
			if tc.changed {
				assert.Equal(t, metav1.NewTime(now), c.LastTransitionTime)
				ready := podstate.Condition(tc.pod, corev1.PodReady)
				assert.Equal(t, corev1.ConditionFalse, ready.Status)
				assert.Equal(t, "ReadinessGatesNotReady", ready.Reason)
				assert.Contains(t, ready.Message, `"KruisePodReady"`)
			}
		})
	}
}

// Cases lifecycle 9, 10.
func TestTwoHoldersOfOnePod(t *testing.T) {
	pod := serving("True", "")
	Add(pod, PreUpdate, now)
	Add(pod, restart, now)
	later := now.Add(time.Minute)

	assert.True(t, Remove(pod, PreUpdate, later))
	c := podstate.Condition(pod, pub.KruisePodReadyConditionType)
	assert.Equal(t, corev1.ConditionFalse, c.Status)
	assert.Equal(t, `[{"userAgent":"ContainerRecreateRequest","key":"ns/again"}]`, c.Message)
	assert.Equal(t, metav1.NewTime(later), c.LastTransitionTime, "though the status stays")

	assert.True(t, Remove(pod, restart, later))
	assert.Equal(t, corev1.ConditionTrue, c.Status)
	assert.Equal(t, "[]", c.Message)
	assert.False(t, podstate.ConditionReady(pod), "Ready is the kubelet's to set True")
	assert.False(t, Remove(pod, restart, later), "it is gone already")
}

func TestPodsWithoutTheGateAreUnchanged(t *testing.T) {
	pod := serving("", "")
	pod.Spec.ReadinessGates = nil
	before := pod.DeepCopy()
	assert.False(t, Unset(pod))
	assert.False(t, Add(pod, PreDelete, now))
	assert.False(t, Remove(pod, PreDelete, now))
	assert.Equal(t, before, pod)
}

// Case lifecycle 15.
func TestFirstConditionIsTrue(t *testing.T) {
	pod := serving("", "")
	assert.True(t, Unset(pod))
	Begin(pod, now)
	assert.False(t, Unset(pod))
	c := podstate.Condition(pod, pub.KruisePodReadyConditionType)
	assert.Equal(t, corev1.PodCondition{Type: "KruisePodReady", Status: "True", LastTransitionTime: metav1.NewTime(now)}, *c)
}

// Case lifecycle 17.
func TestDrain(t *testing.T) {
	marking := &pub.Lifecycle{PreDelete: &pub.LifecycleHook{MarkPodNotReady: true}, InPlaceUpdate: &pub.LifecycleHook{MarkPodNotReady: true}}
	silent := &pub.Lifecycle{PreDelete: &pub.LifecycleHook{}, InPlaceUpdate: &pub.LifecycleHook{}}
	tests := map[string]struct {
		hooks     *pub.Lifecycle
		state     pub.LifecycleStateType
		held, end []Key
	}{
		"before deletion":                     {marking, "PreparingDelete", nil, []Key{PreDelete}},
		"before an update":                    {marking, "PreparingUpdate", nil, []Key{PreUpdate}},
		"deleted while it waits for its hook": {marking, "PreparingDelete", []Key{PreUpdate}, []Key{PreDelete, PreUpdate}},
		"while it is updated":                 {marking, "Updating", []Key{PreUpdate}, []Key{PreUpdate}},
		"an update without a hook drains not": {marking, "Updating", nil, nil},
		"updated":                             {marking, "Updated", []Key{PreUpdate}, nil},
		"normal at once":                      {marking, "Normal", []Key{PreUpdate}, nil},
		"taken back from deletion":            {silent, "PreparingNormal", []Key{PreDelete, PreUpdate}, nil},
		"the mark is taken off meanwhile":     {silent, "PreparingDelete", []Key{PreDelete}, []Key{PreDelete}},
		"the hook is taken off meanwhile":     {nil, "Normal", []Key{PreUpdate}, nil},
		"another party's key stays":           {nil, "Normal", []Key{PreUpdate, restart}, []Key{restart}},
		"a hook that does not mark":           {silent, "PreparingUpdate", nil, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := serving("True", "")
			pod.Labels = map[string]string{pub.LifecycleStateKey: string(tc.state)}
			for _, key := range tc.held {
				Add(pod, key, now)
			}
			due := DrainDue(tc.hooks, pod, tc.state)
			assert.Equal(t, due, Drain(tc.hooks, pod, now), "what is announced is what is done")
			assert.ElementsMatch(t, tc.end, keys(podstate.Condition(pod, pub.KruisePodReadyConditionType)))
			assert.False(t, DrainDue(tc.hooks, pod, tc.state), "once is enough")
		})
	}
}
