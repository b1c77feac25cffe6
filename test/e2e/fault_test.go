//go:build e2e

package e2e

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/hack/localcluster"
)

// restarts returns the restart counts of the Pods' containers, keyed by Pod UID and container. If the map changes, a running Pod
// was disturbed.
func restarts(pods []corev1.Pod) map[string]int32 {
	counts := map[string]int32{}
	for _, pod := range pods {
		for _, status := range pod.Status.ContainerStatuses {
			counts[string(pod.UID)+"/"+status.Name] = status.RestartCount
		}
	}
	return counts
}

// kill deletes the Pods of a program without a grace period, and waits until their replacements are ready. Field selectors choose some of
// the Pods.
func (e *env) kill(labels string, fields ...string) {
	e.t.Helper()
	pods, selected := e.core.CoreV1().Pods("kruise-system"), metav1.ListOptions{LabelSelector: labels, FieldSelector: strings.Join(fields, ",")}
	list, err := pods.List(e.t.Context(), selected)
	require.NoError(e.t, err)
	require.NotEmpty(e.t, list.Items, labels)
	gone := map[string]bool{}
	for _, pod := range list.Items {
		gone[string(pod.UID)] = true
		err := pods.Delete(e.t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		if !apierrors.IsNotFound(err) { // The Pod may have been terminating already.
			require.NoError(e.t, err)
		}
	}
	e.eventually(labels+" returns", func(c *require.Assertions, ctx context.Context) {
		list, err := pods.List(ctx, selected)
		c.NoError(err)
		c.GreaterOrEqual(len(list.Items), len(gone), "each killed Pod has a replacement")
		for _, pod := range list.Items {
			c.False(gone[string(pod.UID)], "a killed Pod is still there")
			c.Len(pod.Status.ContainerStatuses, len(pod.Spec.Containers))
			for _, status := range pod.Status.ContainerStatuses {
				c.True(status.Ready, pod.Name)
			}
		}
	})
}

// killComponent kills a process of the local cluster, as in a crash, and starts it again.
func killComponent(t *testing.T, name string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	cluster, err := localcluster.New(localcluster.MainConfig(root))
	require.NoError(t, err)
	require.NoError(t, cluster.KillComponent(t.Context(), name))
	require.NoError(t, cluster.StartComponent(t.Context(), name))
}

// TestKill kills the apiserver, the controller and etcd one after another. Running Pods never restart, and the next change is
// carried out after each return.
func TestKill(t *testing.T) {
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	for _, step := range []struct {
		name string
		kill func()
	}{
		{"apiserver", func() { e.kill("control-plane=apiserver") }},
		{"controller", func() { e.kill("control-plane=controller-manager") }},
		{"etcd", func() { killComponent(t, "etcd") }},
	} {
		t.Run(step.name, func(t *testing.T) {
			before := restarts(e.pods("web"))
			set := e.cloneSet("web")
			step.kill()
			e.eventually("the API answers", func(c *require.Assertions, ctx context.Context) {
				again, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Get(ctx, "web", metav1.GetOptions{})
				c.NoError(err)
				c.Equal(set.UID, again.UID, "the store kept the object")
				// CloneSets come from another store than Pods: an answer about the one says nothing about the other.
				_, err = e.core.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{})
				c.NoError(err)
			})
			assert.Equal(t, before, restarts(e.pods("web")), "running Pods are left alone")

			replicas := *set.Spec.Replicas + 1
			e.eventually("the next change is accepted", func(c *require.Assertions, ctx context.Context) {
				out, err := e.command(ctx, "scale", "cloneset", "web", sprintf("--replicas=%d", replicas)).CombinedOutput()
				c.NoError(err, "%s", out)
			})
			e.ready("web", replicas)
			after := restarts(e.pods("web"))
			for container, count := range before {
				assert.Equal(t, count, after[container], container)
			}
		})
	}
}
