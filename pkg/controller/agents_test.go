package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAgentsThatBeginOrCeaseToWorkAreNoticed(t *testing.T) {
	pod := func(ready corev1.ConditionStatus, edits ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "p", Labels: map[string]string{"control-plane": "daemon"}},
			Spec:       corev1.PodSpec{NodeName: "n1"},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: ready}, {Type: corev1.ContainersReady, Status: ready},
			}},
		}
		for _, edit := range edits {
			edit(p)
		}
		return p
	}
	other := func(p *corev1.Pod) { p.Labels = nil }
	elsewhere := func(p *corev1.Pod) { p.Namespace = "users" }
	node := func(ready corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}},
		}}
	}
	a := &Agents{namespace: "system"}
	for name, tc := range map[string]struct {
		before, after metav1.Object
		want          string
	}{
		"an agent comes":           {nil, pod("True"), "n1"},
		"an agent becomes ready":   {pod("False"), pod("True"), "n1"},
		"an agent becomes unready": {pod("True"), pod("False"), "n1"},
		"an agent goes":            {pod("True"), nil, "n1"},
		"an agent stays ready":     {pod("True"), pod("True"), ""},
		"another Pod":              {pod("True", other), pod("False", other), ""},
		"another namespace":        {pod("True", elsewhere), pod("False", elsewhere), ""},
		"a node becomes ready":     {node("Unknown"), node("True"), "n1"},
		"a node becomes unready":   {node("True"), node("False"), "n1"},
		"a heartbeat of a node":    {node("True"), node("True"), ""},
		"a new node":               {nil, node("True"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, a.changedPod(tc.before, tc.after)+changedNode(tc.before, tc.after))
		})
	}
}
