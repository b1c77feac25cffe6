package podprobe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
)

// entryOf returns the entry of a Pod with probes of the given size each.
func entryOf(namespace, name string, probes, size int) v1alpha1.PodProbe {
	pod := newPod(nil)
	pod.Namespace, pod.Name, pod.UID = namespace, name, types.UID(namespace+"/"+name)
	var list []v1alpha1.PodContainerProbe
	for i := range probes {
		p := probe(fmt.Sprint("p", i), "main")
		p.Probe.Exec.Command = []string{strings.Repeat("x", size)}
		list = append(list, p)
	}
	return Entry(pod, []*v1alpha1.PodProbeMarker{marker("m", list...)})
}

// sizes returns the size of the entries in each namespace.
func sizes(entries []v1alpha1.PodProbe) map[string]int {
	result := map[string]int{}
	for i := range entries {
		result[entries[i].Namespace] += entries[i].Size()
	}
	return result
}

func TestPodWithManyProbesIsCut(t *testing.T) {
	entries := []v1alpha1.PodProbe{entryOf("ns", "big", 100, 1000), {Name: "empty"}}
	for i := range 20 {
		entries = append(entries, entryOf("ns", fmt.Sprint("web-", i), 1, 100))
	}
	fit, removed := Fit(entries)
	require.Len(t, fit, 21)
	assert.Equal(t, "big", fit[0].Name, "entries are in the order of their names")
	assert.LessOrEqual(t, fit[0].Size(), maxOfPod)
	assert.Greater(t, fit[0].Size(), maxOfPod-2000, "as many probes as fit are kept")
	require.Len(t, removed, 1)
	assert.Equal(t, "big", removed[0].Name)
	assert.Len(t, removed[0].Probes, 100-len(fit[0].Probes))
	again, _ := Fit(fit)
	assert.Equal(t, fit, again)

	// Two such Pods cannot share their parts.
	fit, _ = Fit([]v1alpha1.PodProbe{entryOf("ns", "a", 100, 1000), entryOf("ns", "b", 100, 1000)})
	require.Len(t, fit, 2)
	for i := range fit {
		assert.InDelta(t, maxOfPod-1000, fit[i].Size(), 1000, "each has its own part")
	}
}

// A namespace with many large probes takes no room of other namespaces, also if they are small in number and come later.
func TestNamespaceLeavesRoomForOthers(t *testing.T) {
	var entries []v1alpha1.PodProbe
	for _, namespace := range []string{"a", "b", "c", "d", "e", "f"} {
		for i := range 50 {
			entries = append(entries, entryOf(namespace, fmt.Sprint("greedy-", i), 4, 3500))
		}
	}
	victim := []v1alpha1.PodProbe{entryOf("victim", "large", 4, 3500), entryOf("victim", "small", 1, 100)}
	fit, _ := Fit(append(entries, victim...))
	got := sizes(fit)
	assert.Equal(t, sizes(victim)["victim"], got["victim"], "a namespace that needs less than its part loses nothing")
	total := 0
	for namespace, size := range got {
		total += size
		if namespace != "victim" {
			assert.InDelta(t, (maxOfNode-got["victim"])/6, size, 4000, "the rest is divided equally: %s", namespace)
		}
	}
	assert.LessOrEqual(t, total, maxOfNode)
}

func TestNamespaceAloneIsBounded(t *testing.T) {
	var entries []v1alpha1.PodProbe
	for i := range 100 {
		entries = append(entries, entryOf("ns", fmt.Sprint("web-", i), 4, 3500))
	}
	fit, removed := Fit(entries)
	size := sizes(fit)["ns"]
	assert.LessOrEqual(t, size, maxOfNamespace)
	assert.Greater(t, size, maxOfNamespace-5000)
	assert.NotEmpty(t, removed)
}

func TestFull(t *testing.T) {
	object := func(entries ...v1alpha1.PodProbe) *v1alpha1.NodePodProbe {
		return &v1alpha1.NodePodProbe{Spec: v1alpha1.NodePodProbeSpec{PodProbes: entries}}
	}
	several := func(namespace string, pods int) (entries []v1alpha1.PodProbe) {
		for i := range pods {
			entries = append(entries, entryOf(namespace, fmt.Sprint("web-", i), 4, 3500))
		}
		return entries
	}
	small, other := entryOf("ns", "small", 1, 3500), entryOf("ns", "web-0", 1, 3500)
	tests := map[string]struct {
		object *v1alpha1.NodePodProbe
		wanted v1alpha1.PodProbe
		full   bool
	}{
		"room":                          {object(several("ns", 3)...), small, false},
		"the Pod has no room":           {object(several("ns", 3)...), other, true},
		"alone too large":               {object(), entryOf("ns", "huge", 1, maxOfPod), true},
		"the namespace has no room":     {object(several("ns", 7)...), small, true},
		"another namespace has no room": {object(several("other", 7)...), small, false},
		"the node has no room":          {object(several("other", 14)...), small, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.full, Full(tc.object, &tc.wanted)) })
	}
}
