//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// serviceGate is a readiness gate that the test sets.
const serviceGate = "e2e.kruise.io/serves"

// serves sets the readiness gate of a Pod, as soon as the Pod exists.
func (e *env) serves(pod string, status corev1.ConditionStatus) {
	e.t.Helper()
	patch := sprintf(`{"status":{"conditions":[{"type":%q,"status":%q}]}}`, serviceGate, status)
	e.eventually(pod+" has its gate", func(c *require.Assertions, ctx context.Context) {
		_, err := e.core.CoreV1().Pods(e.namespace).Patch(ctx, pod, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		c.NoError(err)
	})
}

// In order, a scale-in waits until Pods are available, even if only the highest ordinal is not. Then the Pods go one after the other, the
// highest ordinal first.
// Case statefulset 44.
func TestUnavailablePodsAreNotScaledIn(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text := func(replicas string) string {
		return statefulSet(ourGroup, "replicas: 3", "replicas: "+replicas, noGates, noGates+"      readinessGates: [{conditionType: "+serviceGate+"}]\n")
	}
	e.apply(text("3"))
	names := []string{"web-0", "web-1", "web-2"}
	for _, name := range names {
		e.serves(name, corev1.ConditionTrue)
	}
	e.settledSet(3, names...)
	for _, name := range names {
		e.serves(name, corev1.ConditionFalse)
	}
	waits := func(ready int32) {
		t.Helper()
		e.observed(sprintf("%d Pods are ready", ready), func(c *require.Assertions, set *v1beta1.StatefulSet) {
			c.Equal([]int32{3, ready}, []int32{set.Status.Replicas, set.Status.ReadyReplicas}, "replicas, ready")
		})
		require.Len(t, e.pods("web"), 3, "no Pod is deleted")
	}
	waits(0)
	e.apply(text("0"))
	waits(0)
	e.serves("web-1", corev1.ConditionTrue)
	waits(1)

	seen := e.follow()
	e.serves("web-2", corev1.ConditionTrue)
	e.serves("web-0", corev1.ConditionTrue)
	var went []string
	e.eventually("all Pods go", func(c *require.Assertions, _ context.Context) {
		pods, _ := seen.all()
		went = slices.DeleteFunc(pods, func(state string) bool {
			return strings.HasSuffix(state, " created") || strings.HasSuffix(state, " ready")
		})
		c.Len(went, 6)
	})
	assert.Equal(t, []string{"web-2 terminating", "web-2 gone", "web-1 terminating", "web-1 gone", "web-0 terminating", "web-0 gone"}, went)
}

// replacedAtOnce waits until all Pods were replaced, and checks that each old Pod was deleted before the first new one was created.
func (e *env) replacedAtOnce(before map[string]types.UID, history func() []seenPod, names ...string) {
	e.t.Helper()
	e.replacedPods(before, names...)
	terminating := map[types.UID]bool{}
	for _, seen := range history() {
		if seen.UID != before[seen.Name] {
			break
		}
		if seen.DeletionTimestamp != nil {
			terminating[seen.UID] = true
		}
	}
	assert.Len(e.t, terminating, len(before), "old Pods that were deleted before the first new one was created")
}

// If both limits are 100%, a template whose containers cannot start replaces all Pods at once. So does the next template, although no Pod
// is ready. The volumes stay.
// Case statefulset 48.
func TestTemplatesReplaceAllPodsAtOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text := func(command string) string {
		return statefulSet(ourGroup, orderedPolicy, parallelPolicy, "  selector:\n", "  scaleStrategy: {maxUnavailable: 100%}\n  selector:\n",
			inOrderUpdate, inOrderUpdate+"    rollingUpdate: {maxUnavailable: 100%}\n", "        volumeMounts:\n", command+"        volumeMounts:\n")
	}
	names := []string{"web-0", "web-1", "web-2"}
	e.apply(text(""))
	e.settledSet(3, names...)
	volumes := e.kubectl("get", "persistentvolumeclaims", "--output=jsonpath={.items[*].spec.volumeName}")

	before, history := e.uids(), e.watchPods()
	e.apply(text("        command: [/no-such-file]\n"))
	e.replacedAtOnce(before, history, names...)
	e.eventually("no container starts", func(c *require.Assertions, _ context.Context) {
		for _, pod := range e.pods("web") {
			status := statusOf(&pod, "main")
			c.NotNil(status, pod.Name)
			c.Nil(status.State.Running, pod.Name)
			c.True(status.State.Terminated != nil || status.State.Waiting.Reason != "ContainerCreating", pod.Name)
		}
	})
	e.observed("all Pods are updated and none is ready", func(c *require.Assertions, set *v1beta1.StatefulSet) {
		c.Equal([]int32{3, 3, 0}, []int32{set.Status.Replicas, set.Status.UpdatedReplicas, set.Status.ReadyReplicas})
	})

	before, history = e.uids(), e.watchPods()
	e.apply(text("        env: [{name: ADDED, value: \"1\"}]\n"))
	e.replacedAtOnce(before, history, names...)
	e.settledSet(3, names...)
	assert.Equal(t, volumes, e.kubectl("get", "persistentvolumeclaims", "--output=jsonpath={.items[*].spec.volumeName}"))
}

// The claims and volumes of Pods that scaling removes go, even if ranges of numbers are reserved. So do those of a number that becomes
// reserved as part of a range, although it is smaller than the number of Pods.
// Case statefulset 49.
func TestClaimsOfRangesOfReservedOrdinalsGo(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text := func(replicas, reserved string) string {
		return statefulSet(ourGroup, orderedPolicy, parallelPolicy, "replicas: 3", "replicas: "+replicas,
			"  selector:\n", "  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}\n  reserveOrdinals: ["+reserved+"]\n  selector:\n")
	}
	left := func(names ...string) {
		t.Helper()
		e.eventually("the claims that are left", func(c *require.Assertions, _ context.Context) { c.Equal(names, e.claims()) })
	}
	e.apply(text("3", `0, "2-5"`))
	e.settledSet(3, "web-1", "web-6", "web-7")
	left("data-web-1", "data-web-6", "data-web-7")
	volumes := map[string]string{}
	for _, name := range e.claims() {
		volumes[name] = e.claim(name).Spec.VolumeName
		require.NotEmpty(t, volumes[name], name)
	}

	e.apply(text("1", `0, "2-5"`))
	e.settledSet(1, "web-1")
	left("data-web-1")
	e.volumeGone(volumes["data-web-6"])
	e.volumeGone(volumes["data-web-7"])
	assert.Equal(t, volumes["data-web-1"], e.claim("data-web-1").Spec.VolumeName)

	e.apply(text("2", `"1-5"`))
	e.settledSet(2, "web-0", "web-6")
	left("data-web-0", "data-web-6")
	e.volumeGone(volumes["data-web-1"])
}
