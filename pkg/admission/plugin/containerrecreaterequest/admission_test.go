package containerrecreaterequest

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/features"
)

func pod(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", UID: "u1"},
		Spec: corev1.PodSpec{
			NodeName: "n1", TerminationGracePeriodSeconds: new(int64(30)),
			InitContainers: []corev1.Container{{Name: "init"}},
			Containers: []corev1.Container{
				{Name: "app", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}}, {Name: "sidecar"}, {Name: "new"},
			},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "sidecar", ContainerID: "containerd://s1", RestartCount: 4}, {Name: "app", ContainerID: "containerd://a1"}, {Name: "new"},
		}},
	}
	if change != nil {
		change(pod)
	}
	return pod
}

func request(containers ...string) *apps.ContainerRecreateRequest {
	request := &apps.ContainerRecreateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns"},
		Spec: apps.ContainerRecreateRequestSpec{
			PodName: "p", Strategy: &apps.ContainerRecreateRequestStrategy{FailurePolicy: apps.FailContainerRecreateRequestFailurePolicy},
		},
	}
	for _, name := range containers {
		request.Spec.Containers = append(request.Spec.Containers, apps.ContainerRecreateRequestContainer{Name: name})
	}
	return request
}

func newPlugin(t *testing.T, off bool, objects ...runtime.Object) *Plugin {
	t.Helper()
	gate, err := features.New("")
	require.NoError(t, err)
	require.NoError(t, gate.SetFromMap(map[string]bool{string(features.KruiseDaemon): !off}))
	plugin := New()
	require.Error(t, plugin.ValidateInitialization())
	plugin.SetKruiseFeatures(gate)
	plugin.SetExternalKubeClientSet(fake.NewClientset(objects...))
	require.NoError(t, plugin.ValidateInitialization())
	return plugin
}

var node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}

func attributes(version string, obj, old *apps.ContainerRecreateRequest, subresource string) admission.Attributes {
	operation, stored := admission.Create, runtime.Object(nil)
	if old != nil {
		operation, stored = admission.Update, old
	}
	kind := apps.Kind("ContainerRecreateRequest").WithVersion(version)
	return admission.NewAttributesRecord(obj, stored, kind, "ns", "demo",
		apps.Resource(resource).WithVersion(version), subresource, operation, nil, false, nil)
}

// Cases containerrecreaterequest 1, 2, 9.
func TestCreateCompletesTheRequest(t *testing.T) {
	exec := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "8"}}}
	get := &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/stop", Port: intstr.FromString("web")}}
	hooked := func(hook *corev1.LifecycleHandler) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: hook} }
	}
	app := apps.ContainerRecreateRequestContainer{
		Name: "app", StatusContext: &apps.ContainerRecreateRequestContainerContext{ContainerID: "containerd://a1"},
	}
	tests := map[string]struct {
		pod  func(*corev1.Pod)
		node func(*corev1.Node)
		sent func(*apps.ContainerRecreateRequest)
		want func(*apps.ContainerRecreateRequest)
	}{
		"no hook": {},
		"a hook by HTTP": {pod: hooked(get), want: func(r *apps.ContainerRecreateRequest) {
			r.Spec.Containers[0].PreStop = get
			r.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}
		}},
		"a hook by exec":         {pod: hooked(exec), want: func(r *apps.ContainerRecreateRequest) { r.Spec.Containers[0].PreStop = exec }},
		"a hook after the start": {pod: func(p *corev1.Pod) { p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: exec} }},
		"succeeded, and its sidecar ended": {pod: func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodSucceeded
			p.Status.Conditions = []corev1.PodCondition{{Type: "SidecarTerminated"}}
		}},
		"labels of the user": {
			sent: func(r *apps.ContainerRecreateRequest) {
				r.Labels = map[string]string{"mine": "stays", "crr.apps.kruise.io/active": "no", "crr.apps.kruise.io/pod-uid": "u9"}
			},
			want: func(r *apps.ContainerRecreateRequest) { r.Labels["mine"] = "stays" },
		},
		"grace of the user": {
			sent: func(r *apps.ContainerRecreateRequest) { r.Spec.Strategy.TerminationGracePeriodSeconds = new(int64(0)) },
			want: func(r *apps.ContainerRecreateRequest) { r.Spec.Strategy.TerminationGracePeriodSeconds = new(int64(0)) },
		},
		"virtual node": {
			node: func(n *corev1.Node) { n.Labels = map[string]string{"type": "virtual-kubelet"} },
			want: func(r *apps.ContainerRecreateRequest) { r.Labels["type"] = "virtual-kubelet" },
		},
		"another type of node": {node: func(n *corev1.Node) { n.Labels = map[string]string{"type": "big"} }},
		"restarts that were": {
			sent: func(r *apps.ContainerRecreateRequest) { r.Spec.Containers[0].Name = "sidecar" },
			want: func(r *apps.ContainerRecreateRequest) {
				r.Spec.Containers[0] = apps.ContainerRecreateRequestContainer{
					Name: "sidecar", StatusContext: &apps.ContainerRecreateRequestContainerContext{ContainerID: "containerd://s1", RestartCount: 4},
				}
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			node := node.DeepCopy()
			if test.node != nil {
				test.node(node)
			}
			sent, want := request("app"), request()
			want.Labels = map[string]string{
				"crr.apps.kruise.io/pod-uid": "u1", "crr.apps.kruise.io/node-name": "n1", "crr.apps.kruise.io/active": "true",
			}
			want.Spec.Containers = []apps.ContainerRecreateRequestContainer{app}
			want.Spec.Strategy.TerminationGracePeriodSeconds = new(int64(30))
			if test.sent != nil {
				test.sent(sent)
			}
			if test.want != nil {
				test.want(want)
			}
			plugin := newPlugin(t, false, pod(test.pod), node)
			asked := attributes("v1alpha1", sent, nil, "")
			require.NoError(t, plugin.Admit(t.Context(), asked, nil))
			assert.Equal(t, want, sent)

			asked.GetReinvocationContext().SetIsReinvoke()
			require.NoError(t, plugin.Admit(t.Context(), asked, nil), "another round, because a webhook changed something")
			assert.Equal(t, want, sent)
		})
	}
}

// warnings records the warnings to the user.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

func TestRequestThatOnlyStopsGetsAWarning(t *testing.T) {
	for name, test := range map[string]struct {
		policy   corev1.RestartPolicy
		deadline *int64
		warned   int
	}{
		"never, without a deadline": {corev1.RestartPolicyNever, nil, 1},
		"never, with a deadline":    {corev1.RestartPolicyNever, new(int64(60)), 0},
		"always":                    {corev1.RestartPolicyAlways, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var said warnings
			sent := request("app")
			sent.Spec.ActiveDeadlineSeconds = test.deadline
			plugin := newPlugin(t, false, pod(func(p *corev1.Pod) { p.Spec.RestartPolicy = test.policy }), node)
			require.NoError(t, plugin.Admit(warning.WithWarningRecorder(t.Context(), &said), attributes("v1alpha1", sent, nil, ""), nil))
			assert.Len(t, said, test.warned)
		})
	}
}

// Cases containerrecreaterequest 3, 4, 5, 6, 7, 8.
// Case kubectl-plugin 16.
func TestCreateRefuses(t *testing.T) {
	ending := func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = phase } }
	type sent = apps.ContainerRecreateRequest
	tests := map[string]struct {
		pod    func(*corev1.Pod)
		noNode bool
		sent   *sent
		change func(*sent)
		want   []string
	}{
		"statusContext": {sent: request("app"), change: func(r *sent) {
			r.Spec.Containers[0].StatusContext = &apps.ContainerRecreateRequestContainerContext{ContainerID: "containerd://a1"}
		}, want: []string{"preStop, ports, statusContext in container are ready-only fields"}},
		"ports": {sent: request("app"), change: func(r *sent) {
			r.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 1}}
		}, want: []string{"ready-only fields"}},
		"preStop": {sent: request("app"), change: func(r *sent) {
			r.Spec.Containers[0].PreStop = &corev1.LifecycleHandler{}
		}, want: []string{"ready-only fields"}},
		"one container twice": {sent: request("app", "app"), want: []string{"can not recreate app multi times"}},
		"containers and Pod": {sent: request(), change: func(r *sent) { r.Spec.PodName = "" },
			want: []string{"containers list can not be null", "podName can not be empty"}},
		"unknown Pod": {
			sent: request("app"), change: func(r *sent) { r.Spec.PodName = "q" }, want: []string{"no found Pod named q"},
		},
		"no name of a Pod": {
			sent: request("app"), change: func(r *sent) { r.Spec.PodName = "../q" }, want: []string{"no found Pod named ../q"},
		},
		"unknown container": {sent: request("other"), want: []string{"container other not found in Pod"}},
		"init container":    {sent: request("init"), want: []string{"not found init containerStatus in Pod Status"}},
		"container without an ID": {
			sent: request("new"), want: []string{"no containerID in new containerStatus, maybe the container has not been initialized"},
		},
		"all containers at once": {
			sent: request("other", "new", "app"), want: []string{"container other not found", "no containerID in new"},
		},
		"too short a deadline": {
			sent: request("app"), change: func(r *sent) { r.Spec.ActiveDeadlineSeconds = new(int64(2)) },
			want: []string{"activeDeadlineSeconds can not be less than 3s"},
		},
		"unknown policy": {
			sent: request("app"), change: func(r *sent) { r.Spec.Strategy.FailurePolicy = "Retry" }, want: []string{"unknown failurePolicy Retry"},
		},
		"succeeded": {
			sent: request("app"), pod: phase(corev1.PodSucceeded), want: []string{"not allowed to recreate containers in an inactive Pod"},
		},
		"failed": {
			sent: request("app"), pod: phase(corev1.PodFailed), want: []string{"not allowed to recreate containers in an inactive Pod"},
		},
		"deleting": {
			sent: request("app"), pod: ending, want: []string{"not allowed to recreate containers in an inactive Pod"},
		},
		"on no node": {
			sent: request("app"), pod: func(p *corev1.Pod) { p.Spec.NodeName = "" },
			want: []string{"not allowed to recreate containers in a pending Pod"},
		},
		"on a node that is unknown": {sent: request("app"), noNode: true, want: []string{"failed to get Node n1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.change != nil {
				test.change(test.sent)
			}
			objects := []runtime.Object{pod(test.pod)}
			if !test.noNode {
				objects = append(objects, node)
			}
			err := newPlugin(t, false, objects...).Admit(t.Context(), attributes("v1beta1", test.sent, nil, ""), nil)
			var status apierrors.APIStatus
			require.ErrorAs(t, err, &status)
			assert.EqualValues(t, http.StatusUnprocessableEntity, status.Status().Code)
			assert.True(t, apierrors.IsInvalid(err))
			for _, cause := range status.Status().Details.Causes {
				assert.Regexp(t, `^spec\.`, cause.Field)
			}
			assert.Len(t, status.Status().Details.Causes, len(test.want))
			for _, want := range test.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

func TestUnansweredReadsAreInternalErrors(t *testing.T) {
	for _, kind := range []string{"pods", "nodes"} {
		client := fake.NewClientset(pod(nil), node)
		client.PrependReactor("get", kind, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("no route to host")
		})
		plugin := newPlugin(t, false)
		plugin.SetExternalKubeClientSet(client)
		err := plugin.Admit(t.Context(), attributes("v1alpha1", request("app"), nil, ""), nil)
		assert.True(t, apierrors.IsInternalError(err), "%v", err)
		assert.ErrorContains(t, err, "no route to host")
	}
}

// Case containerrecreaterequest 10.
func TestUpdate(t *testing.T) {
	since := []metav1.Condition{{Type: "PreRecreateGrace", Status: metav1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	type stored = apps.ContainerRecreateRequest
	tests := map[string]struct {
		version string
		change  func(*stored)
		want    string
	}{
		"an unrelated label": {"v1alpha1", func(r *stored) { r.Labels["mine"] = "new" }, ""},
		"the spec": {
			"v1alpha1", func(r *stored) { r.Spec.Strategy.OrderedRecreate = true }, "spec of ContainerRecreateRequest is immutable",
		},
		"a label": {"v1beta1", func(r *stored) { r.Labels["crr.apps.kruise.io/pod-uid"] = "u2" },
			"not allowed to update immutable label crr.apps.kruise.io/pod-uid"},
		"the annotation of the drain": {"v1alpha1", func(r *stored) { r.Status.Conditions = nil },
			"not allowed to update immutable annotation crr.apps.kruise.io/unready-acquired"},
		"a status that will be ignored": {"v1beta1", func(r *stored) { r.Status.Conditions = nil }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			old := request("app")
			old.Labels, old.Status.Conditions = map[string]string{"crr.apps.kruise.io/pod-uid": "u1"}, since
			updated := old.DeepCopy()
			test.change(updated)
			sent := updated.DeepCopy()
			err := newPlugin(t, false).Admit(t.Context(), attributes(test.version, updated, old, ""), nil)
			assert.Equal(t, sent, updated, "an update is not changed")
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestOtherRequestsAreIgnored(t *testing.T) {
	require.NoError(t, newPlugin(t, true).Admit(t.Context(), attributes("v1alpha1", request(), nil, ""), nil), "the gate is off")
	require.NoError(t, newPlugin(t, false).Admit(t.Context(), attributes("v1alpha1", request(), request("app"), "status"), nil), "/status")
}
