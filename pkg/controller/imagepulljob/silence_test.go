package imagepulljob

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
)

// A node that reports nothing pulls nothing, so it does not hold up the other nodes for long. A node that has reported holds its
// place for as long as it pulls.
func TestSilentNodeHoldsItsPlaceForAMinute(t *testing.T) {
	w := newWorld(t, append(nodeImages(4), newJob("a", limit("1")))...)
	w.settle("a")
	assert.Equal(t, []string{"n1"}, w.unfinished())
	w.pass(59 * time.Second)
	assert.Equal(t, time.Second, w.step("a"), "nothing else wakes the job")
	assert.Equal(t, []string{"n1"}, w.unfinished())
	w.pass(time.Second)
	w.settle("a")
	assert.Equal(t, []string{"n1", "n2"}, w.unfinished())
	assert.EqualValues(t, 2, w.job("a").Status.Active)

	w.answer("n2", v1beta1.ImagePhasePulling)
	w.pass(10 * time.Minute)
	w.settle("a")
	assert.Equal(t, []string{"n1", "n2"}, w.unfinished(), "it pulls")
	w.answer("n2", v1beta1.ImagePhaseSucceeded)
	w.settle("a")
	assert.Equal(t, []string{"n1", "n3"}, w.unfinished())

	w.answer("n1", v1beta1.ImagePhaseWaiting)
	w.answer("n3", v1beta1.ImagePhaseSucceeded)
	w.settle("a")
	assert.Equal(t, []string{"n1"}, w.unfinished(), "a node that reports at last counts again")
}

// Nodes on which no agent works are asked last, so they delay no other node.
func TestNodesWithoutAnAgentAreAskedLast(t *testing.T) {
	objects := append(nodeImages(5), newJob("a", limit("2")))
	for _, node := range []string{"n1", "n2", "n3", "n4", "n5"} {
		ready := corev1.ConditionTrue
		if node == "n3" {
			ready = corev1.ConditionUnknown
		}
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}},
		}})
		if node != "n1" {
			objects = append(objects, agentOn(node))
		}
	}
	w := newWorld(t, objects...)
	w.settle("a")
	assert.Equal(t, []string{"n2", "n4"}, w.unfinished())
	w.answer("n2", v1beta1.ImagePhaseSucceeded)
	w.settle("a")
	assert.Equal(t, []string{"n4", "n5"}, w.unfinished())
	w.answer("n4", v1beta1.ImagePhaseSucceeded)
	w.answer("n5", v1beta1.ImagePhaseSucceeded)
	w.settle("a")
	assert.Equal(t, []string{"n1", "n3"}, w.unfinished())
}

// agentOn returns the Pod of a node agent.
func agentOn(node string) runtime.Object {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: controllertest.SystemNamespace, Name: "kruise-daemon-" + node, Labels: map[string]string{"control-plane": "daemon"},
		},
		Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
		}},
	}
}
