package containerrecreaterequest

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

// Cases containerrecreaterequest 25, 26, 27.
func TestControllerEndsStuckRequests(t *testing.T) {
	goes := func(p *corev1.Pod) { p.DeletionTimestamp, p.Finalizers = new(metav1.Now()), []string{"a/b"} }
	tests := map[string]struct {
		pod     *corev1.Pod
		request *request
		after   time.Duration
		want    string
		next    time.Duration
	}{
		"the Pod is gone":                       {nil, newRequest(), 0, "pod has gone", 0},
		"another Pod has its name":              {newPod(func(p *corev1.Pod) { p.UID = "u2" }), newRequest(), 0, "pod has gone", 0},
		"the Pod goes":                          {newPod(goes), newRequest(), 0, "pod has gone", 0},
		"no answer":                             {newPod(), newRequest(phase("")), 60 * time.Second, "daemon has not responded for a long time", 0},
		"an answer may come yet":                {newPod(), newRequest(phase("")), 59 * time.Second, "", time.Second},
		"it waits for its turn":                 {newPod(), newRequest(phase("Pending")), time.Hour, "", 0},
		"the deadline":                          {newPod(), newRequest(deadlineOf(3)), 3 * time.Second, "recreating has exceeded the activeDeadlineSeconds", 0},
		"it waits for its turn till then":       {newPod(), newRequest(phase("Pending"), deadlineOf(3)), 3 * time.Second, "recreating has exceeded the activeDeadlineSeconds", 0},
		"the deadline is near":                  {newPod(), newRequest(deadlineOf(30)), 10 * time.Second, "", 20 * time.Second},
		"the answer is due before the deadline": {newPod(), newRequest(phase(""), deadlineOf(300)), 10 * time.Second, "", 50 * time.Second},
		"the deadline comes before the answer":  {newPod(), newRequest(phase(""), deadlineOf(30)), 10 * time.Second, "", 20 * time.Second},
		"nothing limits it":                     {newPod(), newRequest(), time.Hour, "", 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.pod, tc.request)
			w.Clock.SetTime(controllertest.Now.Add(tc.after))
			assert.Equal(t, tc.next, w.reconcile())
			r := w.request()
			assert.Equal(t, tc.want, r.Status.Message)
			if tc.want == "" {
				assert.Nil(t, r.Status.CompletionTime)
				assert.Empty(t, w.Writes())
				return
			}
			assert.Equal(t, v1beta1.ContainerRecreateRequestCompleted, r.Status.Phase)
			require.NotNil(t, r.Status.CompletionTime)
			assert.True(t, r.Status.CompletionTime.Time.Equal(w.Clock.Now()))
			assert.Equal(t, []string{"update containerrecreaterequests/status r"}, w.Writes())
			w.Observe()
			w.reconcile()
			assert.NotContains(t, w.request().Labels, "crr.apps.kruise.io/active")
		})
	}
}

// Case containerrecreaterequest 25.
func TestDeadlineKeepsContainerStates(t *testing.T) {
	tests := map[string][]state{
		"before the agent looked":             nil,
		"while the agent stops the first one": {{Name: "app", Phase: "Pending"}, {Name: "sidecar", Phase: "Pending"}},
		"one came back":                       {{Name: "app", Phase: "Succeeded", IsKilled: true}, {Name: "sidecar", Phase: "Recreating", IsKilled: true}},
		"one failed":                          {{Name: "app", Phase: "Failed", Message: "kill container error: x"}, {Name: "sidecar", Phase: "Pending"}},
	}
	for name, states := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newPod(), newRequest(deadlineOf(3), func(r *request) { r.Status.ContainerRecreateStates = states }))
			w.Clock.SetTime(controllertest.Now.Add(3 * time.Second))
			w.reconcile()
			assert.Equal(t, "recreating has exceeded the activeDeadlineSeconds", w.request().Status.Message)
			assert.Equal(t, states, w.request().Status.ContainerRecreateStates)
		})
	}
}

func TestLongestDeadlineIsNotOver(t *testing.T) {
	w := newWorld(t, newPod(), newRequest(deadlineOf(math.MaxInt64)))
	assert.Positive(t, w.reconcile())
	assert.Nil(t, w.request().Status.CompletionTime)
}

// A container that the kubelet does not start again can never be ready again.
func TestRequestEndsWhenItsContainersHaveEndedForGood(t *testing.T) {
	policy := func(p corev1.RestartPolicy) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.RestartPolicy = p }
	}
	exited := func(name string, code int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			setStatus(pod, corev1.ContainerStatus{Name: name, ContainerID: "containerd://" + name[:1] + "1", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: code},
			}})
		}
	}
	finished := func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }
	ownPolicy := func(pod *corev1.Pod) {
		pod.Spec.Containers = []corev1.Container{{Name: "app"}, {Name: "sidecar", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
	}
	succeeded := func(r *request) { r.Status.ContainerRecreateStates = []state{{Name: "app", Phase: "Succeeded"}} }
	ordered := func(r *request) { r.Spec.Strategy.OrderedRecreate = true }
	tests := map[string]struct {
		pod     *corev1.Pod
		request *request
		want    string
	}{
		"never, all":             {newPod(policy("Never"), exited("app", 1), exited("sidecar", 0)), newRequest(), "containers [app sidecar] have ended and will not be started again"},
		"never, one":             {newPod(policy("Never"), exited("app", 1)), newRequest(), ""},
		"never, one in order":    {newPod(policy("Never"), exited("app", 1)), newRequest(ordered), "containers [app] have ended and will not be started again"},
		"never, one is back":     {newPod(policy("Never"), exited("sidecar", 1)), newRequest(succeeded), "containers [sidecar] have ended and will not be started again"},
		"a policy of its own":    {newPod(policy("Never"), ownPolicy, exited("sidecar", 1)), newRequest(succeeded), ""},
		"on failure, successful": {newPod(policy("OnFailure"), exited("app", 0), exited("sidecar", 0)), newRequest(), "containers [app sidecar] have ended and will not be started again"},
		"on failure, failed":     {newPod(policy("OnFailure"), exited("app", 0), exited("sidecar", 1)), newRequest(), ""},
		"always":                 {newPod(policy("Always"), exited("app", 0), exited("sidecar", 0)), newRequest(), ""},
		"the Pod has finished":   {newPod(policy("Always"), finished, exited("app", 0), exited("sidecar", 0)), newRequest(), "containers [app sidecar] have ended and will not be started again"},
		"its status came early":  {newPod(policy("Always"), finished, exited("app", 0)), newRequest(), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.pod, tc.request)
			w.reconcile()
			assert.Equal(t, tc.want, w.request().Status.Message)
			assert.Equal(t, tc.want != "", w.request().Status.CompletionTime != nil)
		})
	}
}

// The Pod was just created, and the watch of Pods lags behind the watch of requests.
func TestPodMissingInTheCacheIsNotDeleted(t *testing.T) {
	w := newWorld(t, nil, newRequest())
	w.Add(newPod(runs("app", "a2", 1, true)))
	w.reconcile()
	r := w.request()
	assert.Nil(t, r.Status.CompletionTime)
	assert.Len(t, r.Status.ContainerStatusSnapshot, 1)

	w = newWorld(t, nil, newRequest())
	w.Kube.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no route to host")
	})
	_, err := w.Pass("ns", "r")
	require.ErrorContains(t, err, "no route to host")
	assert.Nil(t, w.request().Status.CompletionTime, "a server that does not answer says nothing of the Pod")
}

// Case containerrecreaterequest 28.
func TestOldRequestsAreDeleted(t *testing.T) {
	w := newWorld(t, newPod(), newRequest(ended, func(r *request) { r.Spec.TTLSecondsAfterFinished = new(int32(5)) }))
	assert.Equal(t, []string{"patch containerrecreaterequests r"}, w.settle(), "out of its agent's sight first")
	w.Clock.SetTime(controllertest.Now.Add(2 * time.Second))
	assert.Equal(t, 3*time.Second, w.reconcile())
	w.Clock.SetTime(controllertest.Now.Add(5 * time.Second))
	w.reconcile()
	assert.Equal(t, []string{"delete containerrecreaterequests r"}, w.Writes())

	w = newWorld(t, newPod(), newRequest(ended))
	w.settle()
	w.Clock.SetTime(controllertest.Now.Add(time.Hour))
	assert.Zero(t, w.reconcile(), "without a time it stays")
	w.nothing("without a time it stays")
}

// The agent writes the status as well. What it wrote meanwhile is kept, and the decision is made on it.
func TestConflictKeepsTheAgentsStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		agent    func(*request)
		snapshot int
	}{
		"it goes on": {func(r *request) { r.Status.Message = "stopping" }, 1},
		"it ended": {func(r *request) {
			r.Status.Phase, r.Status.CompletionTime = v1beta1.ContainerRecreateRequestCompleted, new(metav1.NewTime(controllertest.Now))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newPod(runs("app", "a2", 1, true)), newRequest())
			lost := 0
			w.Kruise.PrependReactor("update", "containerrecreaterequests", func(clienttesting.Action) (bool, runtime.Object, error) {
				if lost++; lost > 1 {
					return false, nil, nil
				}
				written := w.request().DeepCopy()
				tc.agent(written)
				resource := v1beta1.SchemeGroupVersion.WithResource("containerrecreaterequests")
				require.NoError(t, w.Kruise.Tracker().Update(resource, written, "ns"))
				return true, nil, apierrors.NewConflict(resource.GroupResource(), "r", nil)
			})
			w.reconcile()
			assert.Equal(t, 1, min(lost, 1))
			assert.Len(t, w.request().Status.ContainerStatusSnapshot, tc.snapshot)
		})
	}
}

// Case containerrecreaterequest 34.
func TestWhoseTurnItIsAfterAChangeOfAPod(t *testing.T) {
	other := newRequest(func(r *request) { r.Name, r.UID = "done", "r2" }, ended)
	elsewhere := newRequest(func(r *request) {
		r.Name, r.UID = "elsewhere", "r3"
		r.Labels[pub.ContainerRecreateRequestPodUIDKey] = "u9"
	})
	pod := newPod(func(p *corev1.Pod) {
		p.Status.Conditions[1].Status = corev1.ConditionFalse
		p.Status.Conditions[1].Message = `[{"userAgent":"ContainerRecreateRequest","key":"ns/lost"},{"userAgent":"Lifecycle","key":"ns/x"},
			{"userAgent":"ContainerRecreateRequest","key":"other/y"}]`
	})
	w := newWorld(t, pod, newRequest(), other, elsewhere)
	assert.ElementsMatch(t, []types.NamespacedName{{Namespace: "ns", Name: "r"}, {Namespace: "ns", Name: "lost"}}, w.concerned(pod))
	assert.Equal(t, 1, indexed(t, w.requestIndex, podIndex, "u1"))

	for name, tc := range map[string]struct {
		edit func(*corev1.Pod)
		want bool
	}{
		"nothing":                 {func(*corev1.Pod) {}, false},
		"a label":                 {func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }, false},
		"another condition":       {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, false},
		"ready":                   {runs("app", "a1", 0, false), true},
		"another instance":        {runs("app", "a2", 1, true), true},
		"another phase":           {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
		"it goes":                 {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, true},
		"another Pod, same name":  {func(p *corev1.Pod) { p.UID = "u2" }, true},
		"another holder keeps it": {func(p *corev1.Pod) { p.Status.Conditions[1].Message = "[]" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			after := pod.DeepCopy()
			tc.edit(after)
			assert.Equal(t, tc.want, matters(pod, after))
		})
	}
}
