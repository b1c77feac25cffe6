package pod

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
)

// newMarker returns a PodProbeMarker for Pods with the label app=web. Each probe writes the condition with its name, unless that is
// plain.
func newMarker(name, container string, probes ...string) *v1alpha1.PodProbeMarker {
	marker := &v1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	marker.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	for _, probe := range probes {
		one := v1alpha1.PodContainerProbe{Name: probe, ContainerName: container, PodConditionType: "c/" + probe}
		one.Probe.Exec = &corev1.ExecAction{Command: []string{name}}
		one.MarkerPolicy = []v1alpha1.ProbeMarkerPolicy{{State: v1alpha1.ProbeSucceeded, Labels: map[string]string{"a": "1"}}}
		if probe == "plain" {
			one.PodConditionType = ""
		}
		marker.Spec.Probes = append(marker.Spec.Probes, one)
	}
	return marker
}

// Case podprobemarker 25.
func TestProvidersGetTheProbesOfAPod(t *testing.T) {
	const gate = "EnablePodProbeMarkerOnServerless=true"
	web := func(pod *corev1.Pod) {
		always := corev1.ContainerRestartPolicyAlways
		pod.Namespace, pod.Labels = "ns", map[string]string{"app": "web"}
		pod.Spec.Containers = []corev1.Container{{Name: "main"}}
		pod.Spec.InitContainers = []corev1.Container{{Name: "init"}, {Name: "side", RestartPolicy: &always}}
	}
	exec := func(marker, probe, container string) string {
		return `{"name":"` + probe + `","containerName":"` + container + `","probe":{"exec":{"command":["` + marker +
			`"]}},"podConditionType":"c/` + probe + `"}`
	}
	gone := newMarker("gone", "main", "gone")
	gone.DeletionTimestamp = &metav1.Time{Time: worldTime}
	tests := map[string]struct {
		gates, list, names string
		markers            []*v1alpha1.PodProbeMarker
		edit               func(*corev1.Pod)
	}{
		"two PodProbeMarkers": {
			gate, "[" + exec("a", "x", "main") + "," + exec("b", "y", "side") + "]", "a,b",
			[]*v1alpha1.PodProbeMarker{newMarker("b", "side", "y", "plain"), newMarker("a", "main", "x", "plain")}, web,
		},
		"the first of two probes counts": {
			gate, "[" + exec("a", "x", "main") + "]", "a",
			[]*v1alpha1.PodProbeMarker{newMarker("b", "main", "x"), newMarker("a", "main", "x")}, web,
		},
		"no condition":            {gate, "", "", []*v1alpha1.PodProbeMarker{newMarker("a", "main", "plain")}, web},
		"no such container":       {gate, "", "", []*v1alpha1.PodProbeMarker{newMarker("a", "init", "x")}, web},
		"it is being deleted":     {gate, "", "", []*v1alpha1.PodProbeMarker{gone}, web},
		"the gate is off":         {"", "", "", []*v1alpha1.PodProbeMarker{newMarker("a", "main", "x")}, web},
		"the labels differ":       {gate, "", "", []*v1alpha1.PodProbeMarker{newMarker("a", "main", "x")}, func(p *corev1.Pod) { web(p); p.Labels["app"] = "db" }},
		"of another namespace":    {gate, "", "", []*v1alpha1.PodProbeMarker{newMarker("a", "main", "x")}, func(p *corev1.Pod) { web(p); p.Namespace = "other" }},
		"there are none at all":   {gate, "", "", nil, web},
		"a Pod that has no label": {gate, "", "", []*v1alpha1.PodProbeMarker{newMarker("a", "main", "x")}, func(p *corev1.Pod) { web(p); p.Labels = nil }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.gates, nil)
			for _, marker := range tc.markers {
				require.NoError(t, w.probes.markers.Add(marker))
			}
			created := w.create(newPod(tc.edit))
			assert.Equal(t, tc.list, created.Annotations["kruise.io/podprobe"])
			assert.Equal(t, tc.names, created.Annotations["kruise.io/podprobemarker-list"])
		})
	}
}
