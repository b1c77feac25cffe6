//go:build integration && skew

package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// programsVariable names a folder with the programs of another revision. hack/skew.sh builds them.
const programsVariable = "SKEW_PROGRAMS"

// programOf returns the path of a program of the other revision, or of this one.
func programOf(t *testing.T, other bool, name string) string {
	t.Helper()
	if other {
		path := filepath.Join(os.Getenv(programsVariable), name)
		require.FileExists(t, path, "run hack/skew.sh")
		return path
	}
	path := filepath.Join(env.dir, name)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "kruise.io/kruise/cmd/"+name).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// manage runs a controller until the end of the test.
func manage(t *testing.T, program string) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, writeKubeconfig(t.Context(), kubeconfig, "kruise-manager"))
	address := func() string {
		port, err := freePort(t.Context())
		require.NoError(t, err)
		return "127.0.0.1:" + strconv.Itoa(port)
	}
	command := exec.CommandContext(t.Context(), program, "--kubeconfig="+kubeconfig, "--enable-leader-election=false", "--enable-pprof=false",
		"--metrics-addr="+address(), "--health-probe-addr="+address())
	command.Env = append(os.Environ(), "POD_NAMESPACE="+ownNamespace)
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
}

// images returns the number of Pods of a namespace with each image.
func images(t *testing.T, namespace string) map[string]int {
	t.Helper()
	pods, err := env.kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	found := map[string]int{}
	for i := range pods.Items {
		found[pods.Items[i].Spec.Containers[0].Image]++
	}
	return found
}

// TestRevisionsWorkTogether runs the apiserver of one revision with the controller of the other one: during an upgrade, both are there.
func TestRevisionsWorkTogether(t *testing.T) {
	for name, oldServer := range map[string]bool{"the apiserver is older": true, "the controller is older": false} {
		t.Run(name, func(t *testing.T) {
			s, err := newServer(t.Context(), "skew-"+strconv.FormatBool(oldServer))
			require.NoError(t, err)
			s.binary = programOf(t, oldServer, "apiserver")
			env.server.stop() // kube-apiserver keeps its connection otherwise.
			t.Cleanup(func() {
				ctx := context.WithoutCancel(t.Context())
				require.NoError(t, env.server.start(ctx))
				require.NoError(t, env.server.publish(ctx))
			})
			require.NoError(t, s.start(t.Context()))
			t.Cleanup(s.kill)
			require.NoError(t, s.publish(t.Context()))
			manage(t, programOf(t, !oldServer, "controller"))

			namespace := newNamespace(t)
			client := env.kruise.AppsV1beta1().CloneSets(namespace)
			set := newCloneSet("demo")
			set.Spec.Replicas = new(int32(2))
			set.Spec.Template.Spec.NodeSelector = map[string]string{"no": "such-node"}
			set.Spec.Template.Spec.Containers[0].Image = "kruise.local/demo:v1"
			set.Spec.UpdateStrategy = v1beta1.CloneSetUpdateStrategy{
				RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{MaxUnavailable: new(intstr.FromString("100%"))},
			}
			create(t, client, set)
			eventually(t, func() bool {
				return assert.ObjectsAreEqual(map[string]int{"kruise.local/demo:v1": 2}, images(t, namespace))
			})
			_, err = client.Patch(t.Context(), "demo", types.MergePatchType, []byte(`{"spec":{"replicas":4}}`), metav1.PatchOptions{})
			require.NoError(t, err)
			eventually(t, func() bool {
				return assert.ObjectsAreEqual(map[string]int{"kruise.local/demo:v1": 4}, images(t, namespace))
			})
			_, err = client.Patch(t.Context(), "demo", types.JSONPatchType,
				[]byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"kruise.local/demo:v2"}]`), metav1.PatchOptions{})
			require.NoError(t, err)
			eventually(t, func() bool {
				got, err := client.Get(t.Context(), "demo", metav1.GetOptions{})
				return err == nil && got.Status.ObservedGeneration == got.Generation && got.Status.UpdatedReplicas == 4 &&
					assert.ObjectsAreEqual(map[string]int{"kruise.local/demo:v2": 4}, images(t, namespace))
			})
		})
	}
}

// TestObjectsSurviveARollback has this revision store an object, the other one read and change it, and this one read it again.
func TestObjectsSurviveARollback(t *testing.T) {
	s, err := newServer(t.Context(), "rollback")
	require.NoError(t, err)
	require.NoError(t, s.start(t.Context()))
	t.Cleanup(func() { s.kill() })
	namespace := newNamespace(t)
	set := newCloneSet("demo")
	set.Spec.Replicas = new(int32(3))
	set.Spec.UpdateStrategy = v1beta1.CloneSetUpdateStrategy{
		RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{Partition: new(intstr.FromInt(1)), MaxUnavailable: new(intstr.FromString("20%"))},
	}
	set.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
	stored := create(t, s.client(t, namespace), set)
	for _, other := range []bool{true, false} {
		s.stop()
		s.binary = env.binary
		if other {
			s.binary = programOf(t, true, "apiserver")
		}
		require.NoError(t, s.start(t.Context()))
		got, err := s.client(t, namespace).Get(t.Context(), "demo", metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, stored.UID, got.UID)
		assert.Equal(t, stored.Generation, got.Generation)
		assert.Equal(t, stored.Spec, got.Spec)
		got.Spec.MinReadySeconds++
		stored, err = s.client(t, namespace).Update(t.Context(), got, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
}
