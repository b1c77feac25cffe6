//go:build e2e

package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const lifecycleState = "lifecycle.apps.kruise.io/state"

// condition returns a Pod's condition. It is empty if the Pod has no condition of that type.
func condition(pod *corev1.Pod, conditionType corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == conditionType {
			return c
		}
	}
	return corev1.PodCondition{}
}

// held waits until a Pod of the CloneSet is in the state, and returns the Pod.
func (e *env) held(name, state string) (found corev1.Pod) {
	e.t.Helper()
	e.eventually("a Pod in "+state, func(c *require.Assertions, ctx context.Context) {
		list, err := e.core.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name + "," + lifecycleState + "=" + state})
		c.NoError(err)
		c.NotEmpty(list.Items)
		found = list.Items[0]
	})
	return found
}

// TestDrainingHooks holds a Pod before its update and another Pod before its deletion. The kubelet keeps a held Pod out of
// service, and puts it back by itself afterwards.
// Cases lifecycle 5, 8, 11.
func TestDrainingHooks(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "spec:\n  replicas: 3", `spec:
  lifecycle:
    inPlaceUpdate: {labelsHandler: {update-hook: "on"}, markPodNotReady: true}
    preDelete: {labelsHandler: {delete-hook: "on"}, markPodNotReady: true}
  replicas: 2`, "labels:\n        app: NAME", "labels:\n        app: web\n        update-hook: \"on\"\n        delete-hook: \"on\""))
	e.ready("web", 2)
	for _, pod := range e.pods("web") {
		require.Equal(t, corev1.ConditionTrue, condition(&pod, "KruisePodReady").Status)
	}

	e.image("web", "kruise.local/demo:v2")
	pod := e.held("web", "PreparingUpdate")
	assert.Equal(t, `[{"userAgent":"Lifecycle","key":"preUpdateHook"}]`, condition(&pod, "KruisePodReady").Message)
	assert.Contains(t, e.outOfService(pod.Name).Spec.Containers[0].Image, "demo:v1")
	e.answerUpdates("web", 2)
	set := e.ready("web", 2)
	assert.Equal(t, int32(2), set.Status.ReadyReplicas)

	e.kubectl("scale", "cloneset", "web", "--replicas=1")
	pod = e.held("web", "PreparingDelete")
	assert.Equal(t, `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`, condition(&pod, "KruisePodReady").Message)
	e.outOfService(pod.Name)
	e.kubectl("label", "pod", pod.Name, "delete-hook-")
	e.ready("web", 1)
	assert.NotEqual(t, pod.Name, e.pods("web")[0].Name)
}

// outOfService waits until the kubelet has observed the readiness gate. Until then, the kubelet may set Ready to True once more.
func (e *env) outOfService(pod string) (held *corev1.Pod) {
	e.t.Helper()
	e.eventually("the Pod is out of service", func(c *require.Assertions, ctx context.Context) {
		var err error
		held, err = e.core.CoreV1().Pods(e.namespace).Get(ctx, pod, metav1.GetOptions{})
		c.NoError(err)
		c.Equal(corev1.ConditionFalse, condition(held, corev1.PodReady).Status)
	})
	return held
}

// answerUpdates releases each Pod that waits for its update, and confirms each updated Pod, until count Pods are confirmed.
func (e *env) answerUpdates(name string, count int) {
	e.t.Helper()
	e.eventually("all updates are answered", func(c *require.Assertions, ctx context.Context) {
		confirmed := 0
		for _, pod := range e.pods(name) {
			switch pod.Labels[lifecycleState] {
			case "PreparingUpdate":
				e.kubectl("label", "pod", pod.Name, "update-hook-")
			case "Updated":
				e.kubectl("label", "pod", pod.Name, "update-hook=on")
			case "Normal":
				if pod.Spec.Containers[0].Image == "kruise.local/demo:v2" {
					confirmed++
				}
			}
		}
		c.Equal(count, confirmed)
	})
}

// TestSurge checks that Pods are replaced without ever fewer than the replicas in service.
// Case cloneset 6.
func TestSurge(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	s := stress{"web", "{type: ReCreate, maxUnavailable: 0, maxSurge: 1}", 3, 1, 0}
	e.apply(manifest("web", "updateStrategy:\n    type: InPlaceIfPossible\n    maxUnavailable: 1", "updateStrategy: "+s.strategy))
	e.ready("web", 3)
	o := e.observe([]stress{s})
	e.image("web", "kruise.local/demo:v2")
	e.ready("web", 3)
	o.report(t)
}

// TestRollback rolls back in the middle of a rollout. Pods that were not updated yet are left alone.
func TestRollback(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "maxUnavailable: 1", "maxUnavailable: 1\n    partition: 2"))
	first := e.ready("web", 3).Status.UpdateRevision
	before := e.pods("web")
	e.image("web", "kruise.local/demo:v2")
	e.eventually("one Pod is updated", func(c *require.Assertions, _ context.Context) {
		c.Equal(int32(1), e.cloneSet("web").Status.UpdatedAvailableReplicas)
	})
	// One patch changes both. After the partition alone, the controller would go on with the update of all Pods.
	e.kubectl("patch", "clonesets.v1beta1.apps.kruise.io", "web", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/updateStrategy/rollingUpdate/partition","value":0},`+
			`{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"kruise.local/demo:v1"}]`)
	set := e.ready("web", 3)
	assert.Equal(t, first, set.Status.UpdateRevision, "no revision is created again")
	after, restarted := restarts(e.pods("web")), 0
	for container, count := range restarts(before) {
		require.Contains(t, after, container, "every Pod is the same")
		if after[container] != count {
			restarted++
		}
	}
	assert.LessOrEqual(t, restarted, 1, "the one that had changed")
}

// TestProgressDeadline checks that a stuck rollout is reported, and that the report is withdrawn when the rollout completes.
func TestProgressDeadline(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "replicas: 3", "progressDeadlineSeconds: 5\n  replicas: 1"))
	e.ready("web", 1)
	reason := func(wanted string) {
		e.eventually("Progressing says "+wanted, func(c *require.Assertions, _ context.Context) {
			for _, condition := range e.cloneSet("web").Status.Conditions {
				if condition.Type == "Progressing" {
					c.Equal(wanted, condition.Reason)
					return
				}
			}
			c.Fail("no condition Progressing")
		})
	}
	reason("CloneSetAvailable")
	e.image("web", "kruise.local/none:v1")
	reason("ProgressDeadlineExceeded")
	e.image("web", "kruise.local/demo:v2")
	reason("CloneSetAvailable")
	e.ready("web", 1)
}
