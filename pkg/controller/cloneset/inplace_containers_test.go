package cloneset

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

// readsAnnotation makes the first container read the annotation v.
func readsAnnotation(s *v1beta1.CloneSetSpec) {
	s.Template.Annotations = map[string]string{"v": "1"}
	s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "V", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['v']"},
	}}}
}

func annotation(value string) func(*v1beta1.CloneSetSpec) {
	return func(s *v1beta1.CloneSetSpec) { s.Template.Annotations["v"] = value }
}

// Case inplace-update 5.
func TestEnvFromMetadataIsUpdatedInPlace(t *testing.T) {
	for _, policyType := range []pub.PodUpdatePolicyType{pub.InPlaceIfPossiblePodUpdatePolicy, pub.InPlaceOnlyPodUpdatePolicy} {
		t.Run(string(policyType), func(t *testing.T) {
			w := newWorld(t, "", newSet(2, policy(policyType), knobs("", "1", ""), readsAnnotation))
			w.node.Agent = true
			w.settle()
			before := w.Pods()
			w.edit(annotation("2"))
			w.step()
			held := slices.DeleteFunc(w.Pods(), func(p *corev1.Pod) bool { return p.Annotations["v"] == "1" })
			require.Len(t, held, 1)
			assert.Equal(t, corev1.ConditionFalse, controllertest.ConditionOf(held[0], pub.InPlaceUpdateReadyConditionType).Status)
			assert.Contains(t, held[0].Annotations[pub.InPlaceUpdateStateKey], `"updateEnvFromMetadata":true`)
			w.step()
			assert.Len(t, slices.DeleteFunc(w.Pods(), func(p *corev1.Pod) bool { return p.Annotations["v"] == "1" }), 1,
				"the next one waits until the agent says that the container was restarted")
			w.settle()
			for i, pod := range w.Pods() {
				assert.Equal(t, before[i].UID, pod.UID)
				assert.Equal(t, "2", pod.Annotations["v"])
				assert.Equal(t, int32(1), pod.Status.ContainerStatuses[0].RestartCount)
				assert.Equal(t, corev1.ConditionTrue, controllertest.ConditionOf(pod, pub.InPlaceUpdateReadyConditionType).Status)
			}
			assert.Equal(t, int32(2), w.set().Status.UpdatedAvailableReplicas)
		})
	}
}

// Case inplace-update 6.
func TestEnvFromMetadataWithTheGateOff(t *testing.T) {
	w := newWorld(t, "InPlaceUpdateEnvFromMetadata=false", newSet(1, inPlaceIfPossible, readsAnnotation))
	w.node.Agent = true
	w.settle()
	w.edit(annotation("2"))
	w.settle()
	assert.Equal(t, "2", w.Pods()[0].Annotations["v"])
	assert.Zero(t, w.Pods()[0].Status.ContainerStatuses[0].RestartCount)
	assert.Equal(t, int32(1), w.set().Status.UpdatedAvailableReplicas)
}

// Without a node agent nothing restarts the container. The rollout continues without the Pod, or reports why it does not.
func TestEnvFromMetadataWithoutAnAgent(t *testing.T) {
	late := func(w *world) {
		w.settle()
		w.Clock.SetTime(controllertest.Now.Add(time.Minute))
	}
	w := rolled(t, "", newSet(1, inPlaceIfPossible, readsAnnotation))
	before := w.names()[0]
	w.edit(annotation("2"))
	late(w)
	assert.Equal(t, []string{before}, w.names(), "the agent may only be late")
	w.settle()
	assert.NotContains(t, w.names(), before)
	assert.Equal(t, int32(1), w.set().Status.UpdatedAvailableReplicas)

	w = rolled(t, "", newSet(1, policy(pub.InPlaceOnlyPodUpdatePolicy), readsAnnotation))
	w.edit(annotation("2"))
	late(w)
	w.Observe()
	_, err := w.reconcile("web")
	require.ErrorContains(t, err, "no node agent reports on this Pod")
	assert.Equal(t, v1beta1.CloneSetConditionFailedUpdate, w.set().Status.Conditions[0].Type)
}

// restartedAt restarts the workload, as kubectl kruise rollout restart does.
func restartedAt(value string) func(*v1beta1.CloneSetSpec) {
	return func(s *v1beta1.CloneSetSpec) {
		if s.Template.Annotations == nil {
			s.Template.Annotations = map[string]string{}
		}
		s.Template.Annotations[pub.RestartedAtKey] = value
	}
}

// Case inplace-update 23.
func TestWorkloadRestartsInPlace(t *testing.T) {
	for _, policyType := range []pub.PodUpdatePolicyType{pub.InPlaceIfPossiblePodUpdatePolicy, pub.InPlaceOnlyPodUpdatePolicy} {
		t.Run(string(policyType), func(t *testing.T) {
			w := newWorld(t, "", newSet(4, policy(policyType), knobs("1", "1", "")))
			w.node.Agent = true
			w.settle()
			before := w.Pods()
			w.edit(restartedAt("1"))
			w.settle()
			restarted := 0
			for i, pod := range w.Pods() {
				assert.Equal(t, before[i].UID, pod.UID)
				restarted += int(pod.Status.ContainerStatuses[0].RestartCount)
				assert.Equal(t, corev1.ConditionTrue, controllertest.ConditionOf(pod, pub.InPlaceUpdateReadyConditionType).Status)
			}
			assert.Equal(t, 3, restarted, "the partition keeps one")
			assert.GreaterOrEqual(t, w.least, 3)
			assert.Equal(t, int32(3), w.set().Status.UpdatedAvailableReplicas)
			assert.Empty(t, w.set().Status.Conditions)
		})
	}
}

func TestRestartWithoutAnAgentRecreates(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlaceIfPossible, knobs("", "1", "")))
	before := w.names()
	w.edit(restartedAt("1"))
	w.settle()
	for _, name := range w.names() {
		assert.NotContains(t, before, name)
	}
	assert.Equal(t, int32(2), w.set().Status.UpdatedAvailableReplicas)

	w = rolled(t, "", newSet(1, policy(pub.InPlaceOnlyPodUpdatePolicy)))
	w.edit(restartedAt("1"))
	w.Observe()
	_, err := w.reconcile("web")
	require.ErrorContains(t, err, "no node agent has reported")
	assert.Equal(t, corev1.ConditionTrue, controllertest.ConditionOf(w.Pods()[0], corev1.PodReady).Status, "the Pod serves on")
}

// The node agent disappears after it has reported on the Pod.
func TestRestartDoesNotWaitForeverForAnAgent(t *testing.T) {
	w := newWorld(t, "", newSet(1, inPlaceIfPossible))
	w.node.Agent = true
	w.settle()
	w.node.Agent = false
	before := w.names()
	w.edit(restartedAt("1"))
	w.settle()
	assert.Equal(t, before, w.names())
	w.Clock.SetTime(w.Clock.Now().Add(3 * time.Minute))
	w.settle()
	assert.NotEqual(t, before, w.names())
}

// barriers gives containers launch priorities the way the Pod webhook does.
func barriers(priorities map[string]string) func(*v1beta1.CloneSetSpec) {
	return func(s *v1beta1.CloneSetSpec) {
		for name, key := range priorities {
			s.Template.Spec.Containers = append(s.Template.Spec.Containers, corev1.Container{Name: name, Image: "app:1", Env: []corev1.EnvVar{{
				Name: pub.ContainerLaunchBarrierEnv, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: key}},
			}}})
		}
		slices.SortFunc(s.Template.Spec.Containers, func(a, b corev1.Container) int { return strings.Compare(a.Name, b.Name) })
	}
}

func imagesOf(pod *corev1.Pod) (images []string) {
	for i := range pod.Spec.Containers {
		images = append(images, pod.Spec.Containers[i].Image)
	}
	return images
}

// Case inplace-update 9.
func TestContainersAreUpdatedByPriority(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible, func(s *v1beta1.CloneSetSpec) { s.Template.Spec.Containers = nil },
		barriers(map[string]string{"a": "p_1", "b": "p_5"})))
	name := w.names()[0]
	w.node.Broken = func(image string) bool { return image == "app:2" }
	w.edit(func(s *v1beta1.CloneSetSpec) {
		for i := range s.Template.Spec.Containers {
			s.Template.Spec.Containers[i].Image = "app:2"
		}
	})
	w.settle()
	assert.Equal(t, []string{"app:1", "app:2"}, imagesOf(w.Pods()[0]), "b runs its new image and is not ready")
	assert.Contains(t, w.Pods()[0].Annotations[pub.InPlaceUpdateStateKey], `"preCheckBeforeNext":{"containersRequiredReady":["b"]}`)

	w.node.Broken = nil
	w.kubelet()
	w.settle()
	assert.Equal(t, []string{name}, w.names())
	assert.Equal(t, []string{"app:2", "app:2"}, imagesOf(w.Pods()[0]))
	assert.Equal(t, int32(1), w.set().Status.UpdatedAvailableReplicas)
}

const vertical = "InPlaceWorkloadVerticalScaling=true"

// amounts sets the first container's CPU request and limit, and its resize policy.
func amounts(request string, restart corev1.ResourceResizeRestartPolicy) func(*v1beta1.CloneSetSpec) {
	return func(s *v1beta1.CloneSetSpec) {
		c := &s.Template.Spec.Containers[0]
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(request)}
		c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: restart}}
	}
}

// Cases inplace-update 17, 18.
func TestResourcesAreUpdatedInPlace(t *testing.T) {
	for restart, want := range map[corev1.ResourceResizeRestartPolicy][]string{
		corev1.NotRequired:      {"patch pods", "patch pods", "patch pods/resize"},
		corev1.RestartContainer: {"patch pods", "patch pods/resize", "patch pods/status", "patch pods/status"},
	} {
		t.Run(string(restart), func(t *testing.T) {
			w := rolled(t, vertical, newSet(1, inPlaceIfPossible, amounts("100m", restart)))
			before := w.Pods()[0]
			w.edit(amounts("200m", restart))
			var toPod []string
			for _, write := range w.settle() {
				if written, found := strings.CutSuffix(write, " "+before.Name); found {
					toPod = append(toPod, written)
				}
			}
			slices.Sort(toPod)
			assert.Equal(t, want, toPod)
			pod := w.Pods()[0]
			assert.Equal(t, before.UID, pod.UID)
			assert.Equal(t, "200m", pod.Spec.Containers[0].Resources.Requests.Cpu().String())
			assert.Equal(t, "Normal", pod.Labels[pub.LifecycleStateKey])
			assert.Equal(t, restart == corev1.NotRequired, w.least == 1, "in service all the time")
		})
	}
}

// Before Kubernetes 1.32, resources are changed like any other part of a Pod. A Pod that is not found does not mean that the
// server lacks the resize subresource.
func TestResourcesOnAHostWithoutResize(t *testing.T) {
	lacks := apierrors.NewGenericServerResponse(http.StatusNotFound, "patch", corev1.Resource("pods"), "web", "404 page not found", 0, true)
	gone := apierrors.NewNotFound(corev1.Resource("pods"), "web")
	for name, tc := range map[string]struct {
		answer error
		times  int
		asked  int
	}{
		"no such path": {answer: lacks, times: math.MaxInt, asked: 1},
		"no such Pod":  {answer: gone, times: 2, asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, vertical, newSet(2, inPlaceIfPossible, amounts("100m", corev1.NotRequired), knobs("", "50%", "")))
			names, asked := w.names(), 0
			w.refuse("patch", func(action clienttesting.Action) error {
				if action.GetSubresource() != "resize" || asked == tc.times {
					return nil
				}
				asked++
				return tc.answer
			})
			w.edit(amounts("200m", corev1.NotRequired))
			require.NoError(t, w.passes(10))
			assert.Equal(t, tc.asked, asked)
			assert.Equal(t, names, w.names())
			for _, pod := range w.Pods() {
				assert.Equal(t, "200m", pod.Spec.Containers[0].Resources.Requests.Cpu().String())
			}
		})
	}
}

func TestResourcesWaitForTheNode(t *testing.T) {
	w := rolled(t, vertical, newSet(1, inPlaceIfPossible, amounts("100m", corev1.NotRequired)))
	name := w.names()[0]
	w.node.Small = true
	w.edit(amounts("200m", corev1.NotRequired))
	w.settle()
	assert.Equal(t, "Updating", w.Pods()[0].Labels[pub.LifecycleStateKey])
	w.change(name, func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible,
		})
	})
	w.settle()
	assert.NotContains(t, w.names(), name, "what the node will never give needs another node")
	assert.Equal(t, int32(1), w.set().Status.UpdatedAvailableReplicas)
}

func TestResourcesRecreateWithTheGateOff(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible, amounts("100m", corev1.NotRequired)))
	name := w.names()[0]
	w.edit(amounts("200m", corev1.NotRequired))
	w.settle()
	assert.NotContains(t, w.names(), name)
}

func TestResourcesWithAGracePeriod(t *testing.T) {
	w := rolled(t, vertical, newSet(1, inPlaceIfPossible, amounts("100m", corev1.RestartContainer), func(s *v1beta1.CloneSetSpec) {
		s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 30}
	}))
	w.edit(amounts("200m", corev1.RestartContainer))
	w.settle()
	assert.Equal(t, "100m", w.Pods()[0].Spec.Containers[0].Resources.Requests.Cpu().String())
	w.Clock.SetTime(controllertest.Now.Add(30 * time.Second))
	w.settle()
	assert.Equal(t, "200m", w.Pods()[0].Spec.Containers[0].Resources.Requests.Cpu().String())
	assert.Equal(t, int32(1), w.set().Status.UpdatedAvailableReplicas)
}

// The write that puts a Pod back into service applies only to the version that was judged, and is not retried.
// Case inplace-update 16.
func TestNewUpdateWinsOverRelease(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible))
	name := w.names()[0]
	w.edit(image("app:2"))
	w.step()
	w.kubelet()
	w.change(name, func(p *corev1.Pod) { p.ResourceVersion = "7" })
	w.Writes()
	tries := 0
	w.Kube.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchActionImpl)
		if patch.Subresource != "status" || !strings.Contains(string(patch.Patch), `"status":"True"`) {
			return false, nil, nil
		}
		tries++
		assert.Contains(t, string(patch.Patch), `"resourceVersion":"7"`)
		return true, nil, apierrors.NewConflict(pods, name, nil)
	})
	w.step()
	assert.Equal(t, 1, tries)
	assert.Equal(t, corev1.ConditionFalse, controllertest.ConditionOf(w.Pods()[0], pub.InPlaceUpdateReadyConditionType).Status)
}

// Metadata that a user changed in a Pod restarts nothing, and the next update does not wait for it.
func TestHandChangedMetadataDoesNotHoldTheNextUpdate(t *testing.T) {
	w := newWorld(t, "", newSet(1, inPlaceIfPossible, readsAnnotation))
	w.node.Agent = true
	w.settle()
	w.edit(annotation("2"))
	w.settle()
	w.change(w.names()[0], func(pod *corev1.Pod) { pod.Annotations["v"] = "mine" })
	w.settle()
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Template.Labels["x"] = "1" })
	w.settle()
	assert.Equal(t, "Normal", w.Pods()[0].Labels[pub.LifecycleStateKey])
	assert.EqualValues(t, 1, w.set().Status.UpdatedAvailableReplicas)
}

// While updates are paused, a Pod whose update will never complete is not replaced.
func TestPauseKeepsAPodWhoseUpdateNeverCompletes(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible, readsAnnotation))
	before := w.names()
	w.edit(annotation("2"))
	w.settle()
	w.edit(func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = true })
	w.settle()
	w.Clock.SetTime(controllertest.Now.Add(time.Minute))
	w.settle()
	w.settle()
	assert.Equal(t, before, w.names())
	w.edit(func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = false })
	w.settle()
	assert.NotEqual(t, before, w.names())
}
