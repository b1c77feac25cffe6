//go:build integration

package integration

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

var plainCodec = scheme.Codecs.WithoutConversion()

// newNamespace creates a namespace. It stays until the cluster stops, because each deletion of a namespace needs hundreds of requests.
func newNamespace(t *testing.T) string {
	t.Helper()
	return newLabelledNamespace(t, nil)
}

// newLabelledNamespace creates a namespace with labels. Pods can be created in it: it has its default service account.
func newLabelledNamespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	namespace, err := env.kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: labels},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, func() bool {
		_, err := env.kube.CoreV1().ServiceAccounts(namespace.Name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	return namespace.Name
}

// cloneSets returns the typed client of a new namespace.
func cloneSets(t *testing.T) typed.CloneSetInterface {
	t.Helper()
	return env.kruise.AppsV1beta1().CloneSets(newNamespace(t))
}

// newCloneSet returns a valid CloneSet.
func newCloneSet(name string) *v1beta1.CloneSet {
	labels := map[string]string{"app": name}
	return &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: v1beta1.CloneSetSpec{
			Replicas: ptr.To[int32](2),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "kruise.local/demo:v1"}}},
			},
		},
	}
}

func create(t *testing.T, client typed.CloneSetInterface, cloneSet *v1beta1.CloneSet) *v1beta1.CloneSet {
	t.Helper()
	created, err := client.Create(t.Context(), cloneSet, metav1.CreateOptions{})
	require.NoError(t, err)
	return created
}

// kubectl runs kubectl and returns its output. Each call has its own cache of the APIs, because kubectl 1.30 does not find all of them
// in a cache that others change at the same time.
func kubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	// The context of a test has ended when its cleanup runs.
	command := exec.CommandContext(context.WithoutCancel(t.Context()), env.cluster.Binary("kubectl"), args...)
	command.Env = append(command.Environ(), "KUBECONFIG="+env.cluster.Kubeconfig(), "HOME="+t.TempDir())
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	return string(out), err
}

func mustKubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := kubectl(t, "", args...)
	require.NoError(t, err, out)
	return out
}

// established waits until a CustomResourceDefinition is served. kubectl does not wait for one whose conditions are not written yet.
func established(t *testing.T, name string) {
	t.Helper()
	eventually(t, func() bool {
		_, err := kubectl(t, "", "wait", "customresourcedefinition", name, "--for=condition=Established")
		return err == nil
	})
}

// eventually waits until the function returns true.
func eventually(t *testing.T, happened func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return happened(), nil
	})
	require.NoError(t, err)
}
