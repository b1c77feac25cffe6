package containerrecreaterequest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
)

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}

// Cases containerrecreaterequest 33, 34, 38.
func TestSnapshot(t *testing.T) {
	type status = v1beta1.ContainerRecreateRequestContainerStatus
	app2 := status{Name: "app", Ready: true, RestartCount: 1, ContainerID: "containerd://a2"}
	sidecar2 := status{Name: "sidecar", Ready: true, RestartCount: 1, ContainerID: "containerd://s2"}
	stored := func(statuses ...status) func(*request) {
		return func(r *request) { r.Status.ContainerStatusSnapshot = statuses }
	}
	ends := waits("app", "a2", "CrashLoopBackOff", "", time.Time{})
	tests := map[string]struct {
		request *request
		pod     *corev1.Pod
		want    []status
	}{
		"the instances that are to go": {newRequest(), newPod(), nil},
		"in the order of the request":  {newRequest(), newPod(runs("sidecar", "s2", 1, true), runs("app", "a2", 1, true)), []status{app2, sidecar2}},
		"not ready yet": {newRequest(), newPod(runs("app", "a2", 1, false)),
			[]status{{Name: "app", RestartCount: 1, ContainerID: "containerd://a2"}}},
		"ready": {newRequest(stored(status{Name: "app", ContainerID: "containerd://a2", RestartCount: 1})),
			newPod(runs("app", "a2", 1, true)), []status{app2}},
		"between two instances what was said stays": {newRequest(stored(app2)), newPod(ends), []status{app2}},
		"of one of two": {newRequest(stored(app2)), newPod(ends, runs("sidecar", "s2", 1, true)), []status{app2, sidecar2}},
		"an instance that is older than the request": {newRequest(), newPod(func(p *corev1.Pod) {
			runs("app", "a2", 1, true)(p)
			p.Status.ContainerStatuses[1].State.Running.StartedAt.Time = controllertest.Now.Add(-time.Hour)
		}), []status{app2}},
		"containers that the request is not about": {newRequest(), newPod(runs("third", "t2", 1, true)), nil},
		"a counter that rose":                      {newRequest(), newPod(runs("app", "a1", 1, true)), []status{{Name: "app", Ready: true, RestartCount: 1, ContainerID: "containerd://a1"}}},
		"a container that the Pod does not have":   {newRequest(), newPod(func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }), nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.pod, tc.request)
			w.settle()
			assert.Equal(t, tc.want, w.request().Status.ContainerStatusSnapshot)
			w.nothing("once is enough")
		})
	}
}

func TestKubeletBackOffIsReported(t *testing.T) {
	finished := controllertest.Now.Add(-3 * time.Second)
	const began = "waiting for the kubelet to start container app again: it was restarted too often"
	tests := map[string]struct {
		status func(*corev1.Pod)
		want   string
	}{
		"until when": {
			waits("app", "a1", "CrashLoopBackOff", "back-off 1m20s restarting failed container=app pod=p_ns(u1)", finished),
			began + ", and is backed off until 2026-01-01T12:01:17Z",
		},
		"in words that are not known": {waits("app", "a1", "CrashLoopBackOff", "later", finished), began},
		"without a time":              {waits("app", "a1", "CrashLoopBackOff", "back-off soon restarting", finished), began},
		"it waits for something else": {waits("app", "a1", "ContainerCreating", "", finished), ""},
		"it runs":                     {runs("app", "a2", 1, false), ""},
		"another container": {
			waits("third", "t1", "CrashLoopBackOff", "back-off 10s restarting failed container=third pod=p_ns(u1)", finished), "",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newPod(tc.status), newRequest())
			w.settle()
			assert.Equal(t, tc.want, w.request().Status.Message)
			w.changePod(runs("app", "a2", 1, true))
			w.settle()
			assert.Empty(t, w.request().Status.Message, "it runs again")
		})
	}
}
