//go:build integration

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	storedrevision "kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/test/openkruise"
)

// plugin compiles the plugin of kubectl once.
var plugin = sync.OnceValues(func() (string, error) {
	path := filepath.Join(env.dir, "kubectl-kruise")
	command := exec.Command("go", "build", "-o", path, "kruise.io/kruise/cmd/kubectl-kruise") // It outlives the first test.
	command.Stderr = os.Stderr
	return path, command.Run()
})

// kruise runs the plugin in a namespace, and returns what it prints on both outputs.
func kruise(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	path, err := plugin()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), path, append(args, "--namespace", namespace)...)
	command.Env = append(command.Environ(), "KUBECONFIG="+env.cluster.Kubeconfig(), "HOME="+t.TempDir())
	out, _ := command.CombinedOutput() // A failure is part of the text.
	return string(out)
}

// withRevisions creates a CloneSet with two revisions. The second one is its template. No controller runs.
func withRevisions(t *testing.T, namespace string) {
	t.Helper()
	set := newCloneSet("web")
	set.Spec.Template.Spec.Containers[0].Image = "kruise.local/demo:v2"
	set.Spec.Template.Labels = map[string]string{"app": "web", "added": "later"}
	set = create(t, env.kruise.AppsV1beta1().CloneSets(namespace), set)
	older := set.Spec.Template.DeepCopy()
	older.Spec.Containers[0].Image = "kruise.local/demo:v1"
	delete(older.Labels, "added")
	for i, template := range []*corev1.PodTemplateSpec{older, &set.Spec.Template} {
		data, err := storedrevision.Data(template)
		require.NoError(t, err)
		_, err = env.kube.AppsV1().ControllerRevisions(namespace).Create(t.Context(), &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Name: []string{"web-a", "web-b"}[i], Labels: map[string]string{"app": "web"},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, v1beta1.SchemeGroupVersion.WithKind("CloneSet"))},
			},
			Revision: int64(i + 1), Data: runtime.RawExtension{Raw: data},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

// Cases kubectl-plugin 1, 2, 6, 9, 10, 12, 13a, 20, 21: the server accepts what the plugin writes, in both versions.
func TestPluginWritesBothVersions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			withRevisions(t, namespace)
			name := "clonesets." + version + ".apps.kruise.io/web"
			read := func() *v1beta1.CloneSet {
				set, err := env.kruise.AppsV1beta1().CloneSets(namespace).Get(t.Context(), "web", metav1.GetOptions{})
				require.NoError(t, err)
				return set
			}
			assert.Equal(t, "cloneset.apps.kruise.io/web paused\n", kruise(t, namespace, "rollout", "pause", name))
			assert.True(t, read().Spec.UpdateStrategy.RollingUpdate.Paused)
			assert.Equal(t, "cloneset.apps.kruise.io/web resumed\n", kruise(t, namespace, "rollout", "resume", name))
			assert.False(t, read().Spec.UpdateStrategy.RollingUpdate.Paused)
			assert.Equal(t, "cloneset.apps.kruise.io/web rolled back (server dry run)\n",
				kruise(t, namespace, "rollout", "undo", name, "--dry-run=server"))
			assert.Equal(t, "kruise.local/demo:v2", read().Spec.Template.Spec.Containers[0].Image)
			assert.Equal(t, "cloneset.apps.kruise.io/web rolled back\n", kruise(t, namespace, "rollout", "undo", name))
			assert.Equal(t, "kruise.local/demo:v1", read().Spec.Template.Spec.Containers[0].Image)
			assert.Equal(t, map[string]string{"app": "web"}, read().Spec.Template.Labels)
			assert.Equal(t, "cloneset.apps.kruise.io/web skipped rollback (current template already matches revision 1)\n",
				kruise(t, namespace, "rollout", "undo", name, "--to-revision=1"))
			assert.Equal(t, "cloneset.apps.kruise.io/web image updated\n", kruise(t, namespace, "set", "image", name, "web=kruise.local/demo:v3"))
			assert.Equal(t, "kruise.local/demo:v3", read().Spec.Template.Spec.Containers[0].Image)
			assert.Equal(t, "cloneset.apps.kruise.io/web env updated\n", kruise(t, namespace, "set", "env", name, "A=1"))
			assert.Equal(t, "cloneset.apps.kruise.io/web restarted\n", kruise(t, namespace, "rollout", "restart", name))
			assert.Len(t, read().Spec.Template.Spec.Containers[0].Env, 2)
			assert.Equal(t, "cloneset.apps.kruise.io/web scaled\n", kruise(t, namespace, "scale", name, "--replicas=3"))
			assert.EqualValues(t, 3, *read().Spec.Replicas)
			assert.Contains(t, kruise(t, namespace, "scaledown", name, "--pods=none"), `pods "none" not found`)
			assert.Contains(t, kruise(t, namespace, "get", "tree", name), "controllerrevision/web-b  revision 2")
			assert.Contains(t, kruise(t, namespace, "get", "all"), "\nclonesets:\nNAME   DESIRED   UPDATED")
			assert.Contains(t, kruise(t, namespace, "why", name), "CloneSet web has a change that the controller has not observed")
			assert.True(t, strings.HasPrefix(kruise(t, namespace, "describe", name), "Name:         web\n"))
			assert.Contains(t, kruise(t, namespace, "rollout", "list"), "Waiting for CloneSet spec update to be observed...")
		})
	}
}

// TestPluginWorksWithCustomResourceDefinitions runs commands on a cluster that still runs OpenKruise: a real kube-apiserver has the kinds as
// CustomResourceDefinitions, most of them only in v1alpha1, and refuses strategic merge patches.
// Not parallel: it replaces the API of the shared server.
func TestPluginWorksWithCustomResourceDefinitions(t *testing.T) {
	o := newOld(t, openkruise.Generations()[0])
	sets := o.clients.Resource(v1alpha1.SchemeGroupVersion.WithResource("clonesets")).Namespace(o.namespace)
	set, err := sets.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{
			"replicas": int64(2), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "fromTheFuture": true,
			"updateStrategy": map[string]any{"type": "InPlaceIfPossible", "maxUnavailable": "20%"},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
				"spec": map[string]any{"containers": []any{
					map[string]any{"name": "main", "image": "kruise.local/demo:v1"}, map[string]any{"name": "side", "image": "kruise.local/side:v1"},
				}},
			},
		},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = env.kube.CoreV1().Pods(o.namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(set, set.GroupVersionKind()),
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "kruise.local/demo:v1"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	spec := func() map[string]any {
		read, err := sets.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		return read.Object["spec"].(map[string]any)
	}
	for _, step := range []struct {
		want string
		args []string
	}{
		{"cloneset.apps.kruise.io/web paused\n", []string{"rollout", "pause", "cloneset/web"}},
		{"cloneset.apps.kruise.io/web resumed\n", []string{"rollout", "resume", "cloneset/web"}},
		{"cloneset.apps.kruise.io/web image updated\n", []string{"set", "image", "cloneset/web", "main=kruise.local/demo:v2"}},
		{"cloneset.apps.kruise.io/web env updated\n", []string{"set", "env", "cloneset/web", "A=1"}},
		{"cloneset.apps.kruise.io/web resource requirements updated\n",
			[]string{"set", "resources", "cloneset/web", "--containers=main", "--requests=cpu=10m"}},
		{"cloneset.apps.kruise.io/web restarted\n", []string{"rollout", "restart", "cloneset/web"}},
		{"# web delete pods [web-1] successfully\ncloneset.apps.kruise.io/web selective pod deletion\n",
			[]string{"scaledown", "cloneset/web", "--pods=web-1"}},
		{"containerrecreaterequest.apps.kruise.io/r created\n", []string{"create", "ContainerRecreateRequest", "r", "--pod=web-1"}},
		{"imagepulljob.apps.kruise.io/j created\n", []string{"create", "ImagePullJob", "j", "--image=kruise.local/demo:v2"}},
	} {
		assert.Equal(t, step.want, kruise(t, o.namespace, step.args...), step.args)
	}
	assert.Equal(t, map[string]any{"type": "InPlaceIfPossible", "maxUnavailable": "20%"}, spec()["updateStrategy"])
	assert.Equal(t, map[string]any{"podsToDelete": []any{"web-1"}}, spec()["scaleStrategy"])
	assert.EqualValues(t, 1, spec()["replicas"])
	assert.Equal(t, true, spec()["fromTheFuture"], "a field that this release does not know")
	containers, _, err := unstructured.NestedSlice(spec(), "template", "spec", "containers")
	require.NoError(t, err)
	require.Len(t, containers, 2)
	assert.Equal(t, "kruise.local/demo:v2", containers[0].(map[string]any)["image"])
	assert.Len(t, containers[0].(map[string]any)["env"], 2)

	assert.Contains(t, kruise(t, o.namespace, "get", "tree", "cloneset/web"), "pod/web-1")
	assert.Contains(t, kruise(t, o.namespace, "why", "cloneset/web"), "CloneSet web has a change that the controller has not observed")
	assert.True(t, strings.HasPrefix(kruise(t, o.namespace, "describe", "cloneset/web"), "Name:         web\n"))
	assert.Contains(t, kruise(t, o.namespace, "rollout", "list"), "Waiting for CloneSet spec update to be observed...")
	assert.Contains(t, kruise(t, o.namespace, "rollout", "status", "cloneset/web", "--watch=false"), "Waiting for CloneSet spec update to be observed...")
}
