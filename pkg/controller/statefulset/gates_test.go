package statefulset

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

func TestClaimsDoNotGrowWithoutTheirGate(t *testing.T) {
	w := rolled(t, "", newSet(2, volume("data", "1Gi"), growWithPods))
	w.edit(size("2Gi"))
	w.settle()
	assert.Equal(t, []string{"1Gi", "1Gi"}, w.sizes())
	w.edit(image("app:2"), func(s *v1beta1.StatefulSetSpec) {
		s.VolumeClaimTemplates[0].Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}
	})
	w.settle()
	assert.Equal(t, []string{"1Gi", "1Gi"}, w.sizes())
	assert.Len(t, w.updated("app:2"), 2, "the claims do not hold up the update")
	assert.Equal(t, []int32{0, 0}, w.compatible())
	assert.NotContains(t, w.Events(), "FailedUpdatePVC")
	assert.Empty(t, w.set().Status.Conditions)
}

// A program with the gate, and then one without it: the ordinals begin at 0 again, and the new Pods are available before the old ones go.
func TestOrdinalsBeginAtZeroWhenTheGateIsClosed(t *testing.T) {
	w := rolled(t, "StatefulSetStartOrdinal=true", newSet(2, start(3)))
	w.r.settings.startOrdinal = false
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1"}, w.names())
	assert.GreaterOrEqual(t, w.least, 2)
}

func TestIndexLabelStaysWhenTheGateIsClosed(t *testing.T) {
	w := rolled(t, "", newSet(1))
	before := w.uids()
	w.r.settings.indexLabel = false
	assert.Empty(t, w.settle())
	assert.Equal(t, before, w.uids())
	assert.Equal(t, "0", w.pod("web-0").Labels[appsv1.PodIndexLabel])
}

// Claims that the set owned while the gate was open keep their owner, because nothing looks at them any more.
func TestClaimsKeepTheirOwnersWhenTheGateIsClosed(t *testing.T) {
	w := rolled(t, "", newSet(2, volume("data", "1Gi"), retention(keep, drop)))
	w.r.settings.retention = false
	w.edit(retention(drop, keep), replicas(1))
	w.settle()
	assert.Equal(t, []string{"StatefulSet"}, w.owners("data-web-0"))
	assert.Equal(t, []string{"StatefulSet"}, w.owners("data-web-1"))
}

// A Pod that waits for the hook of its update counts as updated with the gate. Without it, a Pod with a higher priority is updated
// instead, and the Pod that waited returns to service.
func TestPodsThatWaitForTheirUpdateCountAsTheGateSays(t *testing.T) {
	for gate, want := range map[string]map[string]string{
		"true":  {"web-0": "Normal", "web-1": "Normal", "web-2": "PreparingUpdate"},
		"false": {"web-0": "PreparingUpdate", "web-1": "Normal", "web-2": "Normal"},
	} {
		w := rolled(t, "PreparingUpdateAsUpdate="+gate, newSet(3, inPlace, parallel, partition(2), held, hooks(pub.Lifecycle{
			InPlaceUpdate: &pub.LifecycleHook{LabelsHandler: map[string]string{"hold": "on"}},
		}), func(s *v1beta1.StatefulSetSpec) {
			s.UpdateStrategy.RollingUpdate.UnorderedUpdate = &v1beta1.UnorderedUpdateStrategy{PriorityStrategy: &pub.UpdatePriorityStrategy{
				WeightPriority: []pub.UpdatePriorityWeightTerm{{Weight: 10, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"first": "yes"}}}},
			}}
		}))
		w.edit(image("app:2"))
		w.settle()
		assert.Equal(t, "PreparingUpdate", w.pod("web-2").Labels[pub.LifecycleStateKey])
		w.change("web-0", func(pod *corev1.Pod) { pod.Labels["first"] = "yes" })
		w.settle()
		states := map[string]string{}
		for _, pod := range w.Pods() {
			states[pod.Name] = pod.Labels[pub.LifecycleStateKey]
		}
		assert.Equal(t, want, states, gate)
	}
}

// readsTier gives the container a variable that reads a label of the template.
func readsTier(value string) edit {
	return func(s *v1beta1.StatefulSetSpec) {
		s.Template.Labels["tier"] = value
		s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "TIER", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.labels['tier']"},
		}}}
	}
}

// A label that a container reads restarts it once. With a grace period, the Pod is not ready from the time at which it gets the label
// until then. Without the gate, the label changes and no container restarts.
// Case statefulset 46.
func TestLabelThatAVariableReadsRestartsTheContainerOnce(t *testing.T) {
	for gate, restarts := range map[string]int32{"true": 1, "false": 0} {
		w := newWorld(t, "InPlaceUpdateEnvFromMetadata="+gate, newSet(2, inPlace, readsTier("a"), func(s *v1beta1.StatefulSetSpec) {
			s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &pub.InPlaceUpdateStrategy{GracePeriodSeconds: 10}
		}))
		w.node.Agent = gate == "true"
		w.settle()
		before := w.uids()
		w.edit(readsTier("b"))
		var order []string
		for range 40 {
			w.pass(2 * time.Second)
			w.step()
			w.kubelet()
			for _, pod := range w.Pods() {
				status := pod.Status.ContainerStatuses[0]
				if pod.Labels["tier"] == "b" && status.RestartCount < restarts {
					assert.Equal(t, corev1.ConditionFalse, controllertest.ConditionOf(pod, corev1.PodReady).Status, "%s %s", gate, pod.Name)
				}
				if pod.Labels["tier"] == "b" && (len(order) == 0 || order[len(order)-1] != pod.Name) && len(order) < 2 {
					order = append(order, pod.Name)
				}
			}
		}
		w.settle()
		assert.Equal(t, before, w.uids(), "updated in place")
		assert.Equal(t, []string{"web-1", "web-0"}, order, "the highest ordinal first")
		for _, pod := range w.Pods() {
			assert.Equal(t, restarts, pod.Status.ContainerStatuses[0].RestartCount, "%s %s", gate, pod.Name)
			assert.Equal(t, "b", pod.Labels["tier"])
		}
		assert.Equal(t, 2, w.ready())
	}
}

// Case statefulset 47.
func TestQualityOfServiceDecidesHowResourcesChange(t *testing.T) {
	both := func(request, limit string) edit {
		return func(s *v1beta1.StatefulSetSpec) {
			s.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: requests(request), Limits: requests(limit)}
		}
	}
	for name, tc := range map[string]struct {
		before, after edit
		inPlace       bool
	}{
		"requests and limits, Burstable before and after": {both("1", "2"), both("2", "3"), true},
		"a lower limit": {both("1", "3"), both("1", "2"), true},
		"Burstable to Guaranteed": {both("1", "2"), func(s *v1beta1.StatefulSetSpec) {
			memory := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi")}
			s.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: memory, Limits: memory}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "InPlaceWorkloadVerticalScaling=true", newSet(1, inPlace, tc.before))
			pod := w.pod("web-0")
			before, restarts := pod.UID, pod.Status.ContainerStatuses[0].RestartCount
			w.edit(tc.after)
			w.settle()
			pod = w.pod("web-0")
			assert.Equal(t, w.set().Spec.Template.Spec.Containers[0].Resources, pod.Spec.Containers[0].Resources)
			assert.Equal(t, tc.inPlace, before == pod.UID)
			if tc.inPlace {
				assert.Equal(t, restarts, pod.Status.ContainerStatuses[0].RestartCount, "no restart")
			}
		})
	}
}
