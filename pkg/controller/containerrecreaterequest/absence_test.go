package containerrecreaterequest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/controller/controllertest"
)

func nodeThatIs(ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: ready},
	}}}
}

// agentOn returns the Pod of a node agent.
func agentOn(node string, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: controllertest.SystemNamespace, Name: "kruise-daemon-" + node, UID: types.UID(node), Labels: map[string]string{"control-plane": "daemon"},
		},
		Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: ready}, {Type: corev1.ContainersReady, Status: ready},
		}},
	}
}

// A request whose agent is gone for good ends, and its Pod returns to service.
func TestRequestEndsWhenNoAgentWorksOnItsNode(t *testing.T) {
	stopped := func(r *request) {
		r.Status.ContainerRecreateStates = []state{{Name: "app", Phase: "Recreating", IsKilled: true}}
	}
	for name, tc := range map[string]struct {
		node    *corev1.Node
		agents  []runtime.Object
		request *request
		ends    bool
	}{
		"the node is not ready":              {nodeThatIs("Unknown"), []runtime.Object{agentOn("n1", "True")}, newRequest(unready(0), stopped), true},
		"the agent is not ready":             {nodeThatIs("True"), []runtime.Object{agentOn("n1", "False")}, newRequest(unready(0), stopped), true},
		"only other nodes have an agent":     {nodeThatIs("True"), []runtime.Object{agentOn("n2", "True")}, newRequest(unready(0), stopped), true},
		"a request that waits":               {nodeThatIs("True"), []runtime.Object{agentOn("n2", "True")}, newRequest(phase("Pending")), true},
		"the agent works":                    {nodeThatIs("True"), []runtime.Object{agentOn("n1", "True")}, newRequest(unready(0), stopped), false},
		"the agents are no Pods":             {nodeThatIs("True"), nil, newRequest(unready(0), stopped), false},
		"a user's Pod with the agents' name": {nodeThatIs("True"), []runtime.Object{inNamespace("ns", agentOn("n2", "True"))}, newRequest(unready(0), stopped), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newPod(), tc.request)
			w.Add(append(tc.agents, tc.node)...)
			w.settle()
			w.Clock.SetTime(controllertest.Now.Add(5*time.Minute - time.Second))
			w.nothing("a node may reboot")
			assert.Nil(t, w.request().Status.CompletionTime)
			if tc.ends {
				assert.Equal(t, time.Second, w.Step("ns", "r"), "nothing else reconciles it in time")
			}
			w.Clock.SetTime(controllertest.Now.Add(5 * time.Minute))
			w.settle()
			require.Equal(t, tc.ends, w.request().Status.CompletionTime != nil)
			if !tc.ends {
				return
			}
			assert.Equal(t, "daemon has not responded for a long time", w.request().Status.Message)
			assert.Empty(t, w.request().Finalizers)
			status, _ := w.condition()
			assert.Equal(t, corev1.ConditionTrue, status)
		})
	}
}

func inNamespace(namespace string, pod *corev1.Pod) *corev1.Pod {
	pod.Namespace = namespace
	return pod
}

// Only one uninterrupted absence counts.
func TestAgentThatReturnsKeepsTheRequest(t *testing.T) {
	w := newWorld(t, newPod(), newRequest())
	w.Add(nodeThatIs("Unknown"))
	w.settle()
	w.Clock.SetTime(controllertest.Now.Add(4 * time.Minute))
	w.Update(nodeThatIs("True"))
	w.settle()
	w.Update(nodeThatIs("Unknown"))
	w.settle()
	w.Clock.SetTime(controllertest.Now.Add(8 * time.Minute))
	w.settle()
	assert.Nil(t, w.request().Status.CompletionTime)
	w.Clock.SetTime(controllertest.Now.Add(9 * time.Minute))
	w.settle()
	assert.NotNil(t, w.request().Status.CompletionTime)
}

func TestRequestsOfANodeAreFoundByIt(t *testing.T) {
	ended := newRequest(ended, func(r *request) { r.Name, r.UID = "done", "r2" })
	w := newWorld(t, newPod(), newRequest(), ended)
	assert.Equal(t, []types.NamespacedName{{Namespace: "ns", Name: "r"}}, w.onNode("n1"))
	assert.Empty(t, w.onNode("n2"))
}
