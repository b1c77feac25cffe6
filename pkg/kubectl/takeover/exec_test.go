package takeover

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func apiserver(name string, state corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: map[string]string{"app": "apiserver"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: container, Args: []string{
			"--secure-port=6443", "--etcd-servers=https://etcd:2379", "--etcd-cafile=/ca", "--data-directory=/no",
			"--encryption-provider-config=/c", "--encryption-provider-config-automatic-reload",
			"--max-object-bytes=2031616",
		}}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: container, State: state}}},
	}
}

// TestCommandsRunWhereTheStoreIs finds a running container that is not ready, and the flags that say where its store is.
func TestCommandsRunWhereTheStoreIs(t *testing.T) {
	t.Parallel()
	core := fake.NewClientset(
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: deployment, Namespace: "ns"},
			Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "apiserver"}}},
		},
		apiserver("waits", corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}),
		apiserver("runs", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}),
	)
	pod, err := (&inPod{core: core, namespace: "ns"}).pod(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "runs", pod.Name)
	assert.Equal(t, []string{"--etcd-servers=https://etcd:2379", "--etcd-cafile=/ca", "--encryption-provider-config=/c", "--max-object-bytes=2031616"},
		flagsOf(pod))
}

// TestMissingServersAreSaid names what to install.
func TestMissingServersAreSaid(t *testing.T) {
	t.Parallel()
	_, err := (&inPod{core: fake.NewClientset(), namespace: "ns"}).running(t.Context())
	require.ErrorContains(t, err, "install it with the chart's value takeover=true")
}
