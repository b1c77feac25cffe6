package podprobe

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func marker(name string, probes ...v1alpha1.PodContainerProbe) *v1alpha1.PodProbeMarker {
	return &v1alpha1.PodProbeMarker{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: v1alpha1.PodProbeMarkerSpec{Probes: probes},
	}
}

func probe(name, container string, edits ...func(*v1alpha1.PodContainerProbe)) v1alpha1.PodContainerProbe {
	p := v1alpha1.PodContainerProbe{Name: name, ContainerName: container}
	p.Probe.Exec = &corev1.ExecAction{Command: []string{name}}
	for _, edit := range edits {
		edit(&p)
	}
	return p
}

func condition(kind string) func(*v1alpha1.PodContainerProbe) {
	return func(p *v1alpha1.PodContainerProbe) { p.PodConditionType = kind }
}

// sets makes a result set labels, and annotations with the same keys and values.
func sets(state v1alpha1.ProbeState, pairs ...string) func(*v1alpha1.PodContainerProbe) {
	return func(p *v1alpha1.PodContainerProbe) {
		set := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			set[pairs[i]] = pairs[i+1]
		}
		p.MarkerPolicy = append(p.MarkerPolicy, v1alpha1.ProbeMarkerPolicy{State: state, Labels: set, Annotations: set})
	}
}

func port(p intstr.IntOrString) func(*v1alpha1.PodContainerProbe) {
	return func(one *v1alpha1.PodContainerProbe) {
		one.Probe.ProbeHandler = corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: p}}
	}
}

func newPod(set map[string]string) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid", Labels: set},
		Spec: corev1.PodSpec{
			NodeName:       "n1",
			Containers:     []corev1.Container{{Name: "main", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}},
			InitContainers: []corev1.Container{{Name: "init"}, {Name: "side", RestartPolicy: &always}},
		},
		Status: corev1.PodStatus{PodIP: "10.0.0.1"},
	}
}

// Cases podprobemarker 1, 5, 16.
func TestEntry(t *testing.T) {
	gone := marker("gone", probe("p", "main"))
	gone.DeletionTimestamp = &metav1.Time{Time: now}
	entry := Entry(newPod(nil), []*v1alpha1.PodProbeMarker{
		marker("b", probe("two", "main"), probe("one", "side")), gone,
		marker("a", probe("named", "main", port(intstr.FromString("http"))), probe("unknown", "main", port(intstr.FromString("other"))),
			probe("number", "main", port(intstr.FromInt(9000))), probe("init", "init"), probe("none", "other")),
	})
	var names []string
	for _, p := range entry.Probes {
		names = append(names, p.Name)
	}
	assert.Equal(t, []string{"a#named", "a#number", "b#two", "b#one"}, names)
	assert.Equal(t, intstr.FromInt32(8080), entry.Probes[0].Probe.TCPSocket.Port)
	assert.Equal(t, intstr.FromInt32(9000), entry.Probes[1].Probe.TCPSocket.Port)
	assert.Equal(t, "10.0.0.1", entry.IP)
	assert.Equal(t, "uid", entry.UID)
	assert.Equal(t, []string{"a", "b"}, Selected(&entry))
}

// outcome is what a Pod looks like after its marks.
type outcome struct {
	labels     map[string]string
	conditions []string
}

// marked applies the marks of results to a Pod.
func marked(pod *corev1.Pod, results []v1alpha1.ContainerProbeState, markers ...*v1alpha1.PodProbeMarker) (*Change, outcome) {
	entry := Entry(pod, markers)
	change := Marks(pod, &entry, results, func(name string) *v1alpha1.PodProbeMarker {
		for _, m := range markers {
			if m.Name == name {
				return m
			}
		}
		return nil
	}, now)
	after := map[string]string{}
	maps.Copy(after, pod.Labels)
	for key, value := range change.Labels {
		if value == nil {
			delete(after, key)
			continue
		}
		after[key] = *value
	}
	var conditions []string
	for _, c := range change.Conditions {
		conditions = append(conditions, fmt.Sprint(c.Type, " ", c.Status, " ", c.Message))
	}
	return change, outcome{after, conditions}
}

func result(name string, state v1alpha1.ProbeState, message string) v1alpha1.ContainerProbeState {
	return v1alpha1.ContainerProbeState{
		Name: name, State: state, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute)),
	}
}

// Cases podprobemarker 1, 2, 3, 19, 22, 28, 33.
func TestMarks(t *testing.T) {
	succeeded := func(name string) v1alpha1.ContainerProbeState { return result(name, v1alpha1.ProbeSucceeded, "fine") }
	failed := func(name string) v1alpha1.ContainerProbeState { return result(name, v1alpha1.ProbeFailed, "broken") }
	only := marker("m", probe("p", "main", condition("c"), sets(v1alpha1.ProbeSucceeded, "a", "1")))
	fails := marker("m", probe("p", "main", sets(v1alpha1.ProbeFailed, "a", "0")))
	both := marker("m", probe("p", "main", sets(v1alpha1.ProbeSucceeded, "a", "1"), sets(v1alpha1.ProbeFailed, "a", "0", "b", "1")))
	set := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	type results = []v1alpha1.ContainerProbeState
	tests := map[string]struct {
		labels     map[string]string
		results    results
		markers    []*v1alpha1.PodProbeMarker
		want       map[string]string
		conditions []string
	}{
		"success":                      {nil, results{succeeded("m#p")}, []*v1alpha1.PodProbeMarker{only}, set("a", "1"), []string{"c True fine"}},
		"failure removes":              {set("a", "1", "x", "y"), results{failed("m#p")}, []*v1alpha1.PodProbeMarker{only}, set("x", "y"), []string{"c False broken"}},
		"failure alone is marked":      {nil, results{failed("m#p")}, []*v1alpha1.PodProbeMarker{fails}, set("a", "0"), nil},
		"success removes its mark":     {set("a", "0"), results{succeeded("m#p")}, []*v1alpha1.PodProbeMarker{fails}, set(), nil},
		"both, success":                {set("a", "0", "b", "1"), results{succeeded("m#p")}, []*v1alpha1.PodProbeMarker{both}, set("a", "1"), nil},
		"both, failure":                {set("a", "1"), results{failed("m#p")}, []*v1alpha1.PodProbeMarker{both}, set("a", "0", "b", "1"), nil},
		"unknown removes":              {set("a", "1"), results{result("m#p", v1alpha1.ProbeUnknown, "")}, []*v1alpha1.PodProbeMarker{only}, set(), nil},
		"no result":                    {set("a", "1"), nil, []*v1alpha1.PodProbeMarker{only}, set("a", "1"), nil},
		"a probe that was not asked":   {nil, results{succeeded("m#other"), succeeded("n#p")}, []*v1alpha1.PodProbeMarker{only}, set(), nil},
		"two probes of one condition":  {nil, results{failed("n#q"), succeeded("m#p")}, []*v1alpha1.PodProbeMarker{only, marker("n", probe("q", "main", condition("c")))}, set("a", "1"), []string{"c True fine"}},
		"the last of two labels":       {nil, results{succeeded("n#q"), succeeded("m#p")}, []*v1alpha1.PodProbeMarker{only, marker("n", probe("q", "main", sets(v1alpha1.ProbeSucceeded, "a", "2")))}, set("a", "2"), []string{"c True fine"}},
		"the condition alone":          {set("x", "y"), results{failed("m#p")}, []*v1alpha1.PodProbeMarker{marker("m", probe("p", "main", condition("c")))}, set("x", "y"), []string{"c False broken"}},
		"two probes, two conditions":   {nil, results{failed("m#p"), succeeded("m#q")}, []*v1alpha1.PodProbeMarker{marker("m", probe("p", "main", condition("c")), probe("q", "side", condition("d")))}, set(), []string{"c False broken", "d True fine"}},
		"a marker that has lost probe": {nil, results{succeeded("m#p")}, nil, set(), nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod(tc.labels)
			pod.Annotations = tc.labels
			change, got := marked(pod, tc.results, tc.markers...)
			assert.Equal(t, outcome{tc.want, tc.conditions}, got)
			assert.Equal(t, change.Labels, change.Annotations)
			pod.Status.Conditions = append(pod.Status.Conditions, change.Conditions...)
			pod.Labels, pod.Annotations = got.labels, got.labels
			again, _ := marked(pod, tc.results, tc.markers...)
			assert.True(t, again.Empty(), "a second pass changes nothing")
		})
	}
}

// Case podprobemarker 23.
func TestConditions(t *testing.T) {
	since := metav1.NewTime(now.Add(-time.Hour))
	tests := map[string]struct {
		before     *corev1.PodCondition
		result     v1alpha1.ContainerProbeState
		want       corev1.ConditionStatus
		transition time.Time
	}{
		"new":                       {nil, result("m#p", v1alpha1.ProbeFailed, ""), corev1.ConditionFalse, now.Add(-time.Minute)},
		"changed":                   {&corev1.PodCondition{Status: "True", Message: "fine"}, result("m#p", v1alpha1.ProbeFailed, "x"), "False", now.Add(-time.Minute)},
		"another message":           {&corev1.PodCondition{Status: "True", Message: "data"}, result("m#p", v1alpha1.ProbeSucceeded, "gate"), "True", since.Time},
		"no message any more":       {&corev1.PodCondition{Status: "True", Message: "data"}, result("m#p", v1alpha1.ProbeSucceeded, ""), "True", since.Time},
		"the same":                  {&corev1.PodCondition{Status: "True", Message: "fine"}, result("m#p", v1alpha1.ProbeSucceeded, "fine"), "", now},
		"unknown creates none":      {nil, result("m#p", v1alpha1.ProbeUnknown, ""), "", now},
		"unknown changes one":       {&corev1.PodCondition{Status: "True"}, result("m#p", v1alpha1.ProbeUnknown, ""), "False", now.Add(-time.Minute)},
		"a time of another century": {nil, v1alpha1.ContainerProbeState{Name: "m#p", State: v1alpha1.ProbeFailed, LastTransitionTime: metav1.NewTime(now.AddDate(100, 0, 0))}, "False", now},
		"no time":                   {nil, v1alpha1.ContainerProbeState{Name: "m#p", State: v1alpha1.ProbeFailed}, "False", now},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod(nil)
			if tc.before != nil {
				tc.before.Type, tc.before.LastTransitionTime = "c", since
				pod.Status.Conditions = []corev1.PodCondition{*tc.before}
			}
			change, _ := marked(pod, []v1alpha1.ContainerProbeState{tc.result}, marker("m", probe("p", "main", condition("c"))))
			if tc.want == "" {
				assert.True(t, change.Empty())
				return
			}
			require.Len(t, change.Conditions, 1)
			assert.Equal(t, tc.want, change.Conditions[0].Status)
			assert.True(t, tc.transition.Equal(change.Conditions[0].LastTransitionTime.Time))
			data, err := change.Patch(pod)
			require.NoError(t, err)
			assert.Contains(t, string(data), fmt.Sprintf("%q:%q", "message", tc.result.Message), "an empty message replaces the old one")
		})
	}
}

// Case podprobemarker 26.
func TestConditionsOfAProviderMarkThePod(t *testing.T) {
	m := marker("m", probe("p", "main", condition("c"), sets(v1alpha1.ProbeSucceeded, "a", "1"), sets(v1alpha1.ProbeFailed, "b", "1")),
		probe("q", "main", sets(v1alpha1.ProbeSucceeded, "q", "1")))
	pod := newPod(nil)
	assert.True(t, MarksOfConditions(pod, []*v1alpha1.PodProbeMarker{m}).Empty())
	pod.Status.Conditions = []corev1.PodCondition{{Type: "c", Status: corev1.ConditionTrue}}
	assert.Len(t, MarksOfConditions(pod, []*v1alpha1.PodProbeMarker{m}).Labels, 1)
	pod.Labels = map[string]string{"a": "1"}
	pod.Annotations = pod.Labels
	assert.True(t, MarksOfConditions(pod, []*v1alpha1.PodProbeMarker{m}).Empty())
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	change := MarksOfConditions(pod, []*v1alpha1.PodProbeMarker{m})
	assert.NotContains(t, change.Labels, "a", "marks of the other result stay")
	assert.Contains(t, change.Labels, "b")
}
