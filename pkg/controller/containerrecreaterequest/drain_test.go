package containerrecreaterequest

import (
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

const held = `[{"userAgent":"ContainerRecreateRequest","key":"ns/r"}]`

// Case containerrecreaterequest 17.
func TestPodIsTakenOutOfServiceFirst(t *testing.T) {
	w := newWorld(t, newPod(), newRequest(unready(3), phase("Pending")))
	w.nothing("it is not its turn")
	w.change(phase("Recreating"))
	w.Observe()
	w.reconcile()
	assert.Equal(t, []string{"patch containerrecreaterequests r", "patch pods/status p", "update containerrecreaterequests/status r"}, w.Writes())
	r := w.request()
	assert.Equal(t, []string{"crr.apps.kruise.io/unready-acquired"}, r.Finalizers)
	assert.Equal(t, []metav1.Condition{{
		Type: "PreRecreateGrace", Status: "True", Reason: "PreRecreateGrace", LastTransitionTime: metav1.NewTime(controllertest.Now),
	}}, r.Status.Conditions)
	status, message := w.condition()
	assert.Equal(t, corev1.ConditionFalse, status)
	assert.Equal(t, held, message)
	assert.Equal(t, corev1.ConditionFalse, w.Pods()[0].Status.Conditions[0].Status, "Ready at once")

	w.Clock.SetTime(controllertest.Now.Add(time.Minute))
	w.nothing("the time is written once")

	w.change(ended)
	assert.Equal(t, []string{"patch containerrecreaterequests r", "patch containerrecreaterequests r", "patch pods/status p"}, sorted(w.settle()))
	assert.Empty(t, w.request().Finalizers)
	status, message = w.condition()
	assert.Equal(t, corev1.ConditionTrue, status)
	assert.Equal(t, "[]", message)
}

func TestRemainingTimeIsRoundedUp(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{0: 0, time.Nanosecond: time.Second, 999 * time.Millisecond: time.Second, time.Second: time.Second} {
		assert.Equal(t, controllertest.Now.Add(want), drainedAt(newPod(), controllertest.Now.Add(after)).LastTransitionTime.Time)
	}
}

// Case containerrecreaterequest 18.
func TestWithoutTheGateThereIsTheTimeAlone(t *testing.T) {
	w := newWorld(t, newPod(func(p *corev1.Pod) { p.Spec.ReadinessGates, p.Status.Conditions = nil, nil }), newRequest(unready(0)))
	assert.Equal(t, []string{"update containerrecreaterequests/status r"}, w.settle())
	require.Len(t, w.request().Status.Conditions, 1)
	assert.Equal(t, "the Pod stays in service, because it has no readiness gate KruisePodReady", w.request().Status.Conditions[0].Message)
	assert.Empty(t, w.request().Finalizers)
}

// Case containerrecreaterequest 19.
func TestRequestDeletedDuringDrainPutsThePodBack(t *testing.T) {
	w := newWorld(t, newPod(), newRequest(unready(30)))
	w.settle()
	w.change(func(r *request) { r.DeletionTimestamp = new(metav1.Now()) })
	w.Observe()
	w.reconcile()
	assert.Equal(t, []string{"patch containerrecreaterequests r", "patch pods/status p"}, w.Writes())
	assert.Empty(t, w.request().Finalizers, "it goes")
	status, _ := w.condition()
	assert.Equal(t, corev1.ConditionTrue, status)
}

// The cache of Pods does not yet show the key that an earlier pass added.
func TestKeyMissingInTheCacheIsRemoved(t *testing.T) {
	w := newWorld(t, newPod(), newRequest(unready(30)))
	w.reconcile()
	stale := w.Deps.KubeInformers.Core().V1().Pods().Informer().GetIndexer().List()[0].(*corev1.Pod)
	assert.Empty(t, stale.Status.Conditions[1].Message)
	gone := w.request().DeepCopy()
	gone.DeletionTimestamp = new(metav1.Now())
	require.NoError(t, w.requestIndex.Update(gone))
	w.Update(gone)
	w.reconcile()
	status, _ := w.condition()
	assert.Equal(t, corev1.ConditionTrue, status)
}

func TestPodReturnsToServiceWithoutHolders(t *testing.T) {
	tests := map[string]struct {
		lose func(*world)
		want []string
	}{
		"the finalizer was removed, and the request ended": {func(w *world) {
			w.change(func(r *request) { r.Finalizers = nil; ended(r) })
		}, []string{"patch containerrecreaterequests r", "patch pods/status p"}},
		"the finalizer was removed, and the request is gone": {func(w *world) { w.gone("containerrecreaterequests") }, []string{"patch pods/status p"}},
		"the Pod is gone": {func(w *world) {
			w.gone("pods")
			w.change(func(r *request) { r.DeletionTimestamp = new(metav1.Now()) })
		}, []string{"patch containerrecreaterequests r"}},
		"the Pod goes": {func(w *world) {
			w.changePod(func(p *corev1.Pod) { p.DeletionTimestamp, p.Finalizers = new(metav1.Now()), []string{"a/b"} })
			w.change(func(r *request) { r.DeletionTimestamp = new(metav1.Now()) })
		}, []string{"patch containerrecreaterequests r"}},
		"another Pod has its name": {func(w *world) {
			w.gone("pods")
			w.Add(newPod(func(p *corev1.Pod) { p.UID = "u2" }))
			w.change(func(r *request) { r.DeletionTimestamp = new(metav1.Now()) })
		}, []string{"patch containerrecreaterequests r"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newPod(), newRequest(unready(30)))
			w.settle()
			tc.lose(w)
			assert.Equal(t, tc.want, sorted(w.settle()))
			if pods := w.Pods(); len(pods) == 1 && pods[0].DeletionTimestamp == nil {
				status, _ := w.condition()
				assert.Equal(t, corev1.ConditionTrue, status)
			}
		})
	}
}

// Requests with the same name have the same readiness key.
func TestPodReturnsToServiceWhenARequestOfTheSameNameTargetsAnotherPod(t *testing.T) {
	w := newWorld(t, newPod(), newRequest(unready(30)))
	w.settle()
	w.gone("containerrecreaterequests")
	w.Add(newRequest(unready(30), func(r *request) {
		r.UID, r.Spec.PodName, r.Labels[pub.ContainerRecreateRequestPodUIDKey] = "another", "q", "u2"
		r.Status.Phase = v1beta1.ContainerRecreateRequestPending
	}))
	w.Add(newPod(func(p *corev1.Pod) { p.Name, p.UID = "q", "u2" }))
	w.settle()
	status, _ := w.condition()
	assert.Equal(t, corev1.ConditionTrue, status)
}

func TestRequestMissingInTheCacheKeepsItsKey(t *testing.T) {
	w := newWorld(t, newPod(func(p *corev1.Pod) {
		p.Status.Conditions[1].Status, p.Status.Conditions[1].Message = corev1.ConditionFalse, held
	}))
	w.Add(newRequest(unready(30)))
	w.reconcile()
	assert.Empty(t, w.Writes())
}

func TestNoTimeBeforeTheKeyIsOnThePod(t *testing.T) {
	for name, refuse := range map[string]struct{ verb, resource string }{
		"the finalizer": {"patch", "containerrecreaterequests"}, "the key": {"patch", "pods"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newPod(), newRequest(unready(3)))
			refused := func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewConflict(v1beta1.SchemeGroupVersion.WithResource(refuse.resource).GroupResource(), "x", nil)
			}
			w.Kube.PrependReactor(refuse.verb, refuse.resource, refused)
			w.Kruise.PrependReactor(refuse.verb, refuse.resource, refused)
			_, err := w.Pass("ns", "r")
			require.True(t, apierrors.IsConflict(err), "%v", err)
			assert.Empty(t, w.request().Status.Conditions)
			status, _ := w.condition()
			assert.Equal(t, corev1.ConditionTrue, status)
		})
	}
}

// Another party keeps the Pod out of service too.
func TestLastHolderReturnsThePodToService(t *testing.T) {
	const both = `[{"userAgent":"ContainerRecreateRequest","key":"ns/r"},{"userAgent":"Lifecycle","key":"preDeleteHook"}]`
	w := newWorld(t, newPod(func(p *corev1.Pod) {
		p.Status.Conditions[1].Status = corev1.ConditionFalse
		p.Status.Conditions[1].Message = `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`
	}), newRequest(unready(3)))
	w.settle()
	_, message := w.condition()
	assert.Equal(t, both, message)
	w.change(ended)
	w.settle()
	status, message := w.condition()
	assert.Equal(t, corev1.ConditionFalse, status)
	assert.Equal(t, `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`, message)
}

// The agent is gone, and the request has no deadline. The Pod must not stay out of service.
func TestPodReturnsToServiceWhenTheAgentIsGone(t *testing.T) {
	w := newWorld(t, newPod(), newRequest(unready(10)))
	w.settle()
	status, _ := w.condition()
	require.Equal(t, corev1.ConditionFalse, status)
	w.Clock.SetTime(controllertest.Now.Add(10*time.Second + 30*time.Second + 2*time.Minute + 59*time.Second))
	w.nothing("the agent may be stopping a container")
	w.Clock.SetTime(controllertest.Now.Add(10*time.Second + 30*time.Second + 3*time.Minute + time.Second))
	w.settle()
	assert.Equal(t, "daemon has not responded for a long time", w.request().Status.Message)
	status, _ = w.condition()
	assert.Equal(t, corev1.ConditionTrue, status)
	assert.Empty(t, w.request().Finalizers)
}

// The kubelet may be down, or cannot start the container. The agent works, so nobody says that it does not.
func TestAnswerOfTheAgentKeepsThePodOutOfService(t *testing.T) {
	for name, answer := range map[string]state{
		"stopped":              {Name: "app", Phase: "Recreating", IsKilled: true},
		"there is no instance": {Name: "app", Phase: "Pending", Message: "not found container on Node"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newPod(), newRequest(unready(10), func(r *request) {
				r.Status.ContainerRecreateStates = []state{answer}
			}))
			w.settle()
			w.Clock.SetTime(controllertest.Now.Add(time.Hour))
			w.nothing(name)
			assert.Nil(t, w.request().Status.CompletionTime)
		})
	}
}
