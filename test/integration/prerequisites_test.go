//go:build integration

package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// prerequisites are the objects that must exist in a namespace before an object of a kind is admitted.
var prerequisites = map[string]func(t *testing.T, k *kind, namespace string){
	"ContainerRecreateRequest": runPod,
}

// prepare creates the prerequisites of the kind.
func (k *kind) prepare(t *testing.T, namespace string) {
	t.Helper()
	if make, ok := prerequisites[k.gvk.Kind]; ok {
		make(t, k, namespace)
	}
}

// runPod creates the Pod that the example names, on a node, with running containers. It is deleted without a grace period, because
// there is no kubelet to confirm the deletion. It tolerates that no kubelet renews the node.
func runPod(t *testing.T, k *kind, namespace string) {
	t.Helper()
	const node = "conformance"
	_, err := env.kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{})
	require.NoError(t, existsOr(err))
	name, _, err := unstructured.NestedString(k.example.Object, "spec", "podName")
	require.NoError(t, err)
	example := k.examples[schema.GroupKind{Kind: "Pod"}]
	require.NotNil(t, example, "artifacts/examples has the Pod")
	pod := &corev1.Pod{}
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(example.Object, pod))
	pod.Name, pod.Namespace = name, namespace
	pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds, pod.Spec.AutomountServiceAccountToken = node, new(int64(0)), new(false)
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	pods := env.kube.CoreV1().Pods(namespace)
	created, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	created.Status.Phase = corev1.PodRunning
	for _, container := range created.Spec.Containers {
		created.Status.ContainerStatuses = append(created.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, ImageID: "sha256:1", ContainerID: "containerd://" + container.Name, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		})
	}
	_, err = pods.UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
	require.NoError(t, err)
}
