package jobsidecarterminator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

// Case jobsidecarterminator 1.
func TestSidecarIsStoppedAfterTheMainContainer(t *testing.T) {
	w := newWorld(t, corev1.RestartPolicyNever, side("side"))
	w.change(ended("main", 0))
	request := w.request()
	require.NotNil(t, request)
	assert.Equal(t, "sidecar-termination-u1", request.Name)
	assert.Equal(t, v1beta1.ContainerRecreateRequestSpec{
		PodName: "p", Containers: []v1beta1.ContainerRecreateRequestContainer{{Name: "side"}}, TTLSecondsAfterFinished: new(requestTTL),
		Strategy: &v1beta1.ContainerRecreateRequestStrategy{ForceRecreate: true, FailurePolicy: "Ignore"},
	}, request.Spec)
	assert.Equal(t, []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u1", Controller: new(true), BlockOwnerDeletion: new(true),
	}}, request.OwnerReferences)
	assert.Equal(t, []string{
		"Normal SidecarTerminator Kruise SidecarTerminator is trying to terminate sidecar [side] using crr",
	}, w.Events())
	assert.Empty(t, w.change(ended("side", 0), phase(corev1.PodSucceeded)), "the rest is up to the kubelet")
}

// Cases jobsidecarterminator 2, 3, 4, 5, 6, 7, 8, 12, 17, 18, 22a, 23, 28.
func TestWhichSidecarsAreStoppedWhen(t *testing.T) {
	const never, onFailure = corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure
	own := func(policy corev1.ContainerRestartPolicy, rules ...corev1.ContainerRestartRule) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Containers[0].RestartPolicy, pod.Spec.Containers[0].RestartPolicyRules = &policy, rules
		}
	}
	rule := func(operator corev1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) corev1.ContainerRestartRule {
		return corev1.ContainerRestartRule{
			Action: corev1.ContainerRestartRuleActionRestart, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: operator, Values: codes},
		}
	}
	referred := func(pod *corev1.Pod) {
		side("side")(pod)
		pod.Spec.Containers[1].Env = []corev1.EnvVar{{Name: pub.TerminateSidecarEnv, ValueFrom: &corev1.EnvVarSource{}}}
	}
	twice := container("side", pub.TerminateSidecarEnv, "true", pub.TerminateSidecarEnv, "false")
	valued := func(value string) func(*corev1.Pod) { return container("side", pub.TerminateSidecarEnv, value) }
	image := func(name string) func(*corev1.Pod) {
		return container(name, pub.TerminateSidecarWithImageEnv, "exit:v1")
	}
	deleting := func(pod *corev1.Pod) { pod.DeletionTimestamp, pod.Finalizers = new(metav1.Now()), []string{"a/b"} }
	partial := func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = slices.DeleteFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == "z" })
	}
	unstarted := func(pod *corev1.Pod) {
		*statusOf(pod, "side") = corev1.ContainerStatus{Name: "side", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}
	}
	native := func(pod *corev1.Pod) {
		pod.Spec.InitContainers = []corev1.Container{{
			Name: "side", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Env: []corev1.EnvVar{{Name: pub.TerminateSidecarEnv, Value: "true"}},
		}}
	}
	type edits []func(*corev1.Pod)
	tests := map[string]struct {
		policy corev1.RestartPolicy
		edits  edits
		want   []string
	}{
		"the main container runs":                     {never, edits{side("side")}, nil},
		"it failed":                                   {never, edits{side("side"), ended("main", 1)}, []string{"side"}},
		"it failed and starts again":                  {onFailure, edits{side("side"), ended("main", 1)}, nil},
		"it succeeded at last":                        {onFailure, edits{side("side"), ended("main", 0)}, []string{"side"}},
		"containers that never end":                   {corev1.RestartPolicyAlways, edits{side("side"), ended("main", 0)}, nil},
		"one of two main containers":                  {never, edits{side("side"), container("other"), ended("main", 0)}, nil},
		"both main containers":                        {never, edits{side("side"), container("other"), ended("main", 0), ended("other", 1)}, []string{"side"}},
		"two sidecars, in the order of the Pod":       {never, edits{side("z"), side("a"), ended("main", 0)}, []string{"z", "a"}},
		"one sidecar has ended":                       {never, edits{side("z"), side("a"), ended("main", 0), ended("z", 0)}, []string{"a"}},
		"all sidecars have ended":                     {never, edits{side("z"), ended("main", 0), ended("z", 0)}, nil},
		"value True":                                  {never, edits{valued("True"), ended("main", 0)}, []string{"side"}},
		"value TRUE":                                  {never, edits{valued("TRUE"), ended("main", 0)}, []string{"side"}},
		"value false":                                 {never, edits{valued("false"), ended("main", 0)}, nil},
		"value 1":                                     {never, edits{valued("1"), ended("main", 0)}, nil},
		"a value from elsewhere":                      {never, edits{referred, ended("main", 0)}, nil},
		"the last value counts":                       {never, edits{twice, ended("main", 0)}, nil},
		"only the image, on a real node":              {never, edits{image("side"), ended("main", 0)}, nil},
		"the image beside a sidecar":                  {never, edits{image("i"), side("side"), ended("main", 0)}, []string{"side"}},
		"only sidecars":                               {never, edits{func(pod *corev1.Pod) { pod.Spec.Containers, pod.Status.ContainerStatuses = nil, nil }, side("side")}, []string{"side"}},
		"the Pod is being deleted":                    {never, edits{side("side"), ended("main", 0), deleting}, nil},
		"the Pod is pending":                          {never, edits{side("side"), ended("main", 0), phase(corev1.PodPending)}, nil},
		"the Pod has finished otherwise":              {never, edits{side("side"), ended("main", 0), phase(corev1.PodFailed)}, nil},
		"the status is not complete":                  {never, edits{ended("main", 0), side("side"), side("z"), partial}, nil},
		"the sidecar never started":                   {never, edits{side("side"), ended("main", 0), unstarted}, nil},
		"native sidecars are left to the kubelet":     {never, edits{native, container("other"), ended("main", 0)}, nil},
		"a main container with its own policy":        {never, edits{side("side"), own("OnFailure"), ended("main", 1)}, nil},
		"its own policy, and it succeeded":            {never, edits{side("side"), own("OnFailure"), ended("main", 0)}, []string{"side"}},
		"its own policy does not start it again":      {onFailure, edits{side("side"), own("Never"), ended("main", 1)}, []string{"side"}},
		"its own policy always starts it again":       {never, edits{side("side"), own("Always"), ended("main", 0)}, nil},
		"its own rule starts it again":                {never, edits{side("side"), own("Never", rule("In", 7, 42)), ended("main", 42)}, nil},
		"its own rule is for another code":            {never, edits{side("side"), own("Never", rule("In", 42)), ended("main", 1)}, []string{"side"}},
		"its own rule starts it after a success":      {never, edits{side("side"), own("Never", rule("NotIn", 42)), ended("main", 0)}, nil},
		"its own rule leaves out this code":           {never, edits{side("side"), own("Never", rule("NotIn", 42)), ended("main", 42)}, []string{"side"}},
		"an empty rule":                               {never, edits{side("side"), own("Never", corev1.ContainerRestartRule{}), ended("main", 1)}, []string{"side"}},
		"with a SidecarSet, injected before or after": {never, edits{side("side"), container("late"), ended("main", 0), ended("late", 0)}, []string{"side"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.policy, tc.edits...)
			writes := w.settle()
			assert.Equal(t, tc.want, w.requested())
			if tc.want == nil {
				assert.Empty(t, writes)
				assert.Empty(t, w.Events())
			}
		})
	}
}

// Cases jobsidecarterminator 10, 11.
func TestVirtualNodesGetAnotherImage(t *testing.T) {
	both := container("both", pub.TerminateSidecarEnv, "true", pub.TerminateSidecarWithImageEnv, "exit:v1")
	w := newWorld(t, corev1.RestartPolicyNever, both, side("side"), container("image", pub.TerminateSidecarWithImageEnv, "exit:v2"))
	w.Update(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"type": "virtual-kubelet"}}})
	assert.Equal(t, []string{"patch pods p"}, w.change(ended("main", 0)))
	images := map[string]string{}
	for i := range w.pod().Spec.Containers {
		images[w.pod().Spec.Containers[i].Name] = w.pod().Spec.Containers[i].Image
	}
	assert.Equal(t, map[string]string{"main": "main:v1", "both": "exit:v1", "side": "side:v1", "image": "exit:v2"}, images)
	assert.Equal(t, []string{
		"Normal SidecarTerminator Kruise SidecarTerminator is trying to terminate sidecar [both image] using in-place update",
	}, w.Events(), "once")
	assert.Nil(t, w.request())
	assert.Empty(t, w.change(ended("both", 0), ended("image", 1)), "nothing ends the sidecar without an image")
}

func TestRefusedImageIsReported(t *testing.T) {
	w := newWorld(t, corev1.RestartPolicyNever, container("side", pub.TerminateSidecarWithImageEnv, "exit:v1"), ended("main", 0))
	w.Update(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"type": "virtual-kubelet"}}})
	w.Kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "p", fmt.Errorf("no"))
	})
	w.Observe()
	_, err := w.Pass("ns", "p")
	require.Error(t, err, "it is tried again")
	assert.Contains(t, w.Events()[0], "Warning FailedSidecarTermination cannot replace the images of sidecars [side]")
}

// Cases jobsidecarterminator 13, 14, 15, 27.
func TestIgnoredExitCodesEndThePodFirst(t *testing.T) {
	tests := map[string]struct {
		side func(*corev1.Pod)
		code int32
		want corev1.PodPhase
	}{
		"counted":                         {side("side"), 0, corev1.PodRunning},
		"ignored":                         {ignoring("side"), 0, corev1.PodSucceeded},
		"ignored, the main one failed":    {ignoring("side"), 1, corev1.PodFailed},
		"the variable alone says nothing": {container("side", pub.TerminateSidecarIgnoreExitCodeEnv, "true"), 0, corev1.PodRunning},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, corev1.RestartPolicyNever, tc.side)
			writes := w.change(ended("main", tc.code))
			assert.Equal(t, tc.want, w.pod().Status.Phase)
			condition := controllertest.ConditionOf(w.pod(), "SidecarTerminated")
			if tc.want == corev1.PodRunning {
				assert.Nil(t, condition)
				return
			}
			assert.Equal(t, []string{"create containerrecreaterequests", "patch pods/status p"}, writes, "the Pod is written once")
			assert.Equal(t, []string{"side"}, w.requested())
			require.NotNil(t, condition)
			assert.Equal(t, corev1.ConditionTrue, condition.Status)
			assert.Equal(t, "Terminated by Sidecar Terminator", condition.Message)
			assert.True(t, condition.LastTransitionTime.Time.Equal(controllertest.Now))
			assert.Len(t, w.pod().Status.ContainerStatuses, 2, "nothing else changes")
		})
	}
}

// Case jobsidecarterminator 16.
func TestOtherSidecarsEndBeforeThoseWithIgnoredExitCodes(t *testing.T) {
	w := newWorld(t, corev1.RestartPolicyNever, ignoring("ignored"), side("side"))
	w.change(ended("main", 0))
	assert.Equal(t, []string{"side"}, w.requested())
	assert.Equal(t, corev1.PodRunning, w.pod().Status.Phase)
	w.answer(w.completed)
	w.change(ended("side", 0))
	assert.Equal(t, corev1.PodSucceeded, w.pod().Status.Phase)
	assert.Equal(t, []string{"ignored"}, w.requested(), "without a delay")
}

// Case jobsidecarterminator 19.
func TestRestartedControllerCreatesNoSecondRequest(t *testing.T) {
	w := newWorld(t, corev1.RestartPolicyNever, side("side"), ended("main", 0))
	w.settle()
	w.Control(build(w.Deps))
	assert.Empty(t, w.settle())

	late := newWorld(t, corev1.RestartPolicyNever, side("side"), ended("main", 0))
	late.Kruise.PrependReactor("create", "containerrecreaterequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewAlreadyExists(requestResource.GroupResource(), "sidecar-termination-u1")
	})
	late.Observe()
	_, err := late.Pass("ns", "p")
	require.NoError(t, err, "another replica created it, and the cache will show it")
	assert.Empty(t, late.Events())
}

// Case jobsidecarterminator 21.
func TestRequestIsRepeatedUntilTheAgentReturns(t *testing.T) {
	w := newWorld(t, corev1.RestartPolicyNever, side("side"), ended("main", 0))
	w.settle()
	for _, delay := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		w.answer(w.completed)
		assert.EqualValues(t, max(60, delay+30), *w.request().Spec.TTLSecondsAfterFinished, "it stays until it is repeated")
		assert.Equal(t, delay*time.Second, w.Step("ns", "p"))
		w.pass(delay*time.Second - time.Second)
		assert.Empty(t, w.settle())
		w.pass(time.Second)
		assert.Equal(t, []string{"delete containerrecreaterequests sidecar-termination-u1", "create containerrecreaterequests"}, w.settle())
		assert.Nil(t, w.request().Status.CompletionTime)
	}
}

// Case jobsidecarterminator 22.
func TestSidecarThatStartsAgainIsStoppedAgain(t *testing.T) {
	w := newWorld(t, corev1.RestartPolicyOnFailure, side("side"), ended("main", 0))
	w.settle()
	w.answer(func(r *v1beta1.ContainerRecreateRequest) {
		r.Status.Phase = v1beta1.ContainerRecreateRequestRecreating
		r.Status.ContainerRecreateStates = []v1beta1.ContainerRecreateRequestContainerRecreateState{{Name: "side", Phase: "Recreating", IsKilled: true}}
	})
	assert.Empty(t, w.change(), "the instance has not ended yet")
	assert.Empty(t, w.change(again("side", "side2")))
	w.pass(firstRetry)
	assert.Equal(t, []string{"delete containerrecreaterequests sidecar-termination-u1", "create containerrecreaterequests"}, w.settle())
	assert.Equal(t, []string{"side"}, w.requested())
}

// The node may be new, or gone with its Pods. The controller tries again, and stops when the Pod is deleted.
func TestUnknownNodeIsRetried(t *testing.T) {
	w := newWorld(t, corev1.RestartPolicyNever, side("side"), ended("main", 0), func(pod *corev1.Pod) { pod.Spec.NodeName = "gone" })
	w.Observe()
	_, err := w.Pass("ns", "p")
	require.ErrorContains(t, err, "get Node of Pod")
	assert.Nil(t, w.request())
	require.NoError(t, w.Kube.Tracker().Delete(podResource, "ns", "p"))
	w.Observe()
	_, err = w.Pass("ns", "p")
	require.NoError(t, err)
}

// Case jobsidecarterminator 30.
// A Pod without the variable must cost nothing, because the controller gets the events of every Pod.
func TestOtherPodsNeverEnterTheQueue(t *testing.T) {
	plain := newWorld(t, corev1.RestartPolicyNever, container("other", "A", "true"))
	assert.False(t, concerned(plain.pod()))
	service := newWorld(t, corev1.RestartPolicyAlways, side("side"))
	assert.False(t, concerned(service.pod()))
	job := newWorld(t, corev1.RestartPolicyOnFailure, side("side"))
	assert.True(t, concerned(job.pod()))
	pod := plain.pod()
	assert.Zero(t, testing.AllocsPerRun(100, func() { concerned(pod) }))
}

// The kubelet or an eviction may have set a final phase that the cache does not show yet.
func TestFinalPhaseOfOthersStays(t *testing.T) {
	w := newWorld(t, corev1.RestartPolicyNever, ignoring("side"), ended("main", 0), func(p *corev1.Pod) { p.ResourceVersion = "7" })
	versions := 0
	w.Kube.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch, ok := action.(clienttesting.PatchAction)
		if ok && action.GetSubresource() == "status" {
			assert.Contains(t, string(patch.GetPatch()), `"resourceVersion":"7"`)
			versions++
			return true, nil, apierrors.NewConflict(corev1.Resource("pods"), "p", nil)
		}
		return false, nil, nil
	})
	w.Observe()
	_, err := w.Pass("ns", "p")
	require.True(t, apierrors.IsConflict(err), "%v", err)
	assert.Equal(t, 1, versions)
	assert.Nil(t, w.request())
}

// A user can create a request of the name, with or without the Pod as an owner.
func TestRequestOfAUserIsReported(t *testing.T) {
	for name, owners := range map[string][]metav1.OwnerReference{
		"without an owner":      nil,
		"with the Pod as owner": {{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u1"}},
		"of an earlier Pod":     {{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u0", Controller: new(true)}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, corev1.RestartPolicyNever, side("side"), ended("main", 0))
			foreign := &v1beta1.ContainerRecreateRequest{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: requestName(w.pod()), UID: "foreign", OwnerReferences: owners,
			}}
			w.Add(foreign)
			assert.Equal(t, firstRetry, w.Step("ns", "p"))
			events := w.Events()
			require.NotEmpty(t, events)
			assert.Contains(t, events[0], "Warning FailedSidecarTermination cannot stop sidecars, because ContainerRecreateRequest "+
				foreign.Name+" exists and does not belong to this Pod; delete it")
			require.NoError(t, w.Kruise.AppsV1beta1().ContainerRecreateRequests("ns").Delete(t.Context(), foreign.Name, metav1.DeleteOptions{}))
			w.pass(firstRetry)
			w.settle()
			assert.Equal(t, []string{"side"}, w.requested())
		})
	}
}
