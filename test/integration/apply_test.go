//go:build integration

package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/generated/applyconfiguration/apps/v1beta1"
	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

// owners returns the managers of a field of the CloneSet demo, sorted.
func owners(t *testing.T, client typed.CloneSetInterface, field string) []string {
	t.Helper()
	got, err := client.Get(t.Context(), "demo", metav1.GetOptions{})
	require.NoError(t, err)
	var names []string
	for _, entry := range got.ManagedFields {
		if strings.Contains(entry.FieldsV1.GetRawString(), `"`+field+`"`) {
			names = append(names, entry.Manager)
		}
	}
	slices.Sort(names)
	return names
}

func configuration(namespace, image string) *v1beta1.CloneSetApplyConfiguration {
	labels := map[string]string{"app": "demo"}
	return v1beta1.CloneSet("demo", namespace).WithSpec(v1beta1.CloneSetSpec().
		WithSelector(metav1apply.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(corev1apply.PodTemplateSpec().WithLabels(labels).
			WithSpec(corev1apply.PodSpec().WithContainers(corev1apply.Container().WithName("web").WithImage(image)))))
}

func TestServerSideApply(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	client := env.kruise.AppsV1beta1().CloneSets(namespace)
	created, err := client.Apply(t.Context(), configuration(namespace, "demo:v1"), metav1.ApplyOptions{FieldManager: "one"})
	require.NoError(t, err)
	assert.Equal(t, "demo:v1", created.Spec.Template.Spec.Containers[0].Image)

	again, err := client.Apply(t.Context(), configuration(namespace, "demo:v1"), metav1.ApplyOptions{FieldManager: "one"})
	require.NoError(t, err)
	assert.Equal(t, created.ResourceVersion, again.ResourceVersion, "the same again changes nothing")

	_, err = client.Apply(t.Context(), configuration(namespace, "demo:v2"), metav1.ApplyOptions{FieldManager: "two"})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	assert.ErrorContains(t, err, `conflict with "one"`)
	assert.ErrorContains(t, err, `.spec.template.spec.containers[name="web"].image`)

	forced, err := client.Apply(t.Context(), configuration(namespace, "demo:v2"), metav1.ApplyOptions{FieldManager: "two", Force: true})
	require.NoError(t, err)
	assert.Equal(t, "demo:v2", forced.Spec.Template.Spec.Containers[0].Image)
	assert.Equal(t, []string{"two"}, owners(t, client, "f:image"))
	assert.Equal(t, created.Generation+1, forced.Generation)
}

func TestKubectlDiffWaitAndDelete(t *testing.T) {
	t.Parallel()
	client := cloneSets(t)
	created := create(t, client, newCloneSet("demo"))
	manifest := mustKubectl(t, "get", "clone/demo", "-n", created.Namespace, "-o", "yaml")
	out, err := kubectl(t, strings.Replace(manifest, "replicas: 2", "replicas: 3", 1), "diff", "-f", "-")
	require.Error(t, err, "a difference is exit code 1")
	assert.Contains(t, out, "+  replicas: 3")

	created.Status.ReadyReplicas = 2
	_, err = client.UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
	require.NoError(t, err)
	mustKubectl(t, "wait", "clone/demo", "-n", created.Namespace, "--for=jsonpath={.status.readyReplicas}=2", "--timeout=30s")
	mustKubectl(t, "label", "clone/demo", "-n", created.Namespace, "color=blue")
	mustKubectl(t, "delete", "clone/demo", "-n", created.Namespace, "--cascade=orphan")
}

// Not parallel: it sets an environment variable.
func TestKubectlEdit(t *testing.T) {
	client := cloneSets(t)
	created := create(t, client, newCloneSet("demo"))
	t.Setenv("KUBE_EDITOR", "sed -i 's/replicas: 2/replicas: 4/'")
	out := mustKubectl(t, "edit", "clone", "demo", "-n", created.Namespace)
	assert.Contains(t, out, "cloneset.apps.kruise.io/demo edited")
	edited, err := client.Get(t.Context(), "demo", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(4), *edited.Spec.Replicas)
	assert.Equal(t, int64(2), edited.Generation)
}

// Clients with newer types write the CloneSet of a v1alpha1 UnitedDeployment with the fields of v1beta1, which is neither refused nor
// changed. An apply of the same again changes nothing, and an apply without a field removes it.
func TestCloneSetTemplateInTheFormOfAnotherVersion(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: apps.kruise.io/v1alpha1
kind: UnitedDeployment
metadata: {name: demo}
spec:
  replicas: 2
  selector: {matchLabels: {app: demo}}
  template:
    cloneSetTemplate:
      metadata: {labels: {app: demo}}
      spec:
        selector: {matchLabels: {app: demo}}
        scaleStrategy: {excludePreparingDelete: true}
        updateStrategy:
          type: RollingUpdate
          rollingUpdate: {podUpdatePolicy: InPlaceIfPossible, maxUnavailable: 3, paused: true}
        template:
          metadata: {labels: {app: demo}}
          spec: {containers: [{name: main, image: "kruise.local/demo:v1"}]}
  topology: {subsets: [{name: a}]}
`
	for name, arguments := range map[string][]string{
		"client-side": {"apply", "-f", "-"},
		"server-side": {"apply", "-f", "-", "--server-side"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			client := env.kruise.AppsV1beta1().UnitedDeployments(namespace)
			apply := func(text string) string {
				out, err := kubectl(t, text, append(arguments, "-n", namespace)...)
				require.NoError(t, err, out)
				return out
			}
			apply(manifest)
			created, err := client.Get(t.Context(), "demo", metav1.GetOptions{})
			require.NoError(t, err)
			set := created.Spec.Template.CloneSetTemplate.Spec
			assert.Equal(t, intstr.FromInt32(3), *set.UpdateStrategy.RollingUpdate.MaxUnavailable)
			assert.Equal(t, pub.InPlaceIfPossiblePodUpdatePolicy, set.UpdateStrategy.RollingUpdate.PodUpdatePolicy)
			assert.True(t, set.UpdateStrategy.RollingUpdate.Paused)
			assert.True(t, set.ScaleStrategy.ExcludePreparingDelete)
			assert.False(t, set.ScaleStrategy.EnablePVCReuse)
			assert.Equal(t, "RollingUpdate 3 true", mustKubectl(t, "get", "uniteddeployments.v1alpha1.apps.kruise.io", "demo", "-n", namespace, "-o",
				"jsonpath={.spec.template.cloneSetTemplate.spec.updateStrategy['type','rollingUpdate.maxUnavailable','rollingUpdate.paused']}"))

			apply(manifest)
			again, err := client.Get(t.Context(), "demo", metav1.GetOptions{})
			require.NoError(t, err)
			assert.Equal(t, created.ResourceVersion, again.ResourceVersion)

			apply(strings.Replace(manifest, ", paused: true", "", 1))
			resumed, err := client.Get(t.Context(), "demo", metav1.GetOptions{})
			require.NoError(t, err)
			assert.False(t, resumed.Spec.Template.CloneSetTemplate.Spec.UpdateStrategy.RollingUpdate.Paused)
			assert.Equal(t, created.Generation+1, resumed.Generation)
		})
	}
}

// A manifest and a patch that were written for v1alpha1 have the same effect in v1beta1, which kubectl prefers. They are not refused, and
// are shown in the form of v1beta1.
func TestFieldsOfV1alpha1InV1beta1(t *testing.T) {
	t.Parallel()
	const strategy = "jsonpath={.spec.updateStrategy}"
	client := cloneSets(t)
	namespace := create(t, client, newCloneSet("demo")).Namespace
	shown := func() string {
		return mustKubectl(t, "get", "clonesets.v1beta1.apps.kruise.io", "demo", "-n", namespace, "-o", strategy)
	}
	patch := func(text string) {
		t.Helper()
		out := mustKubectl(t, "patch", "cloneset", "demo", "-n", namespace, "--type=merge", "-p", `{"spec":{"updateStrategy":`+text+`}}`)
		assert.NotContains(t, out, "Warning")
	}
	patch(`{"type":"InPlaceOnly","partition":1,"paused":true}`)
	assert.JSONEq(t, `{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","partition":1,"paused":true,
		"maxUnavailable":"20%","maxSurge":0,"inPlaceUpdateStrategy":{}}}`, shown())
	patch(`{"paused":false,"maxUnavailable":2}`)
	assert.JSONEq(t, `{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","partition":1,
		"maxUnavailable":2,"maxSurge":0,"inPlaceUpdateStrategy":{}}}`, shown())
	out, err := kubectl(t, "", "patch", "cloneset", "demo", "-n", namespace, "--type=merge", "-p", `{"spec":{"updateStrategy":{"partition":"x%"}}}`)
	require.Error(t, err)
	assert.Contains(t, out, "spec.updateStrategy.rollingUpdate.partition")

	const manifest = `
apiVersion: apps.kruise.io/v1beta1
kind: UnitedDeployment
metadata: {name: demo}
spec:
  replicas: 2
  selector: {matchLabels: {app: demo}}
  template:
    cloneSetTemplate:
      metadata: {labels: {app: demo}}
      spec:
        selector: {matchLabels: {app: demo}}
        scaleStrategy: {disablePVCReuse: false}
        updateStrategy: {type: InPlaceIfPossible, maxUnavailable: 3}
        template:
          metadata: {labels: {app: demo}}
          spec: {containers: [{name: main, image: "kruise.local/demo:v1"}]}
  topology: {subsets: [{name: a}]}
`
	for _, arguments := range [][]string{{"apply", "-f", "-"}, {"apply", "-f", "-", "--server-side", "--force-conflicts"}} {
		var version string
		for range 2 {
			out, err := kubectl(t, manifest, append(arguments, "-n", namespace)...)
			require.NoError(t, err, out)
			united, err := env.kruise.AppsV1beta1().UnitedDeployments(namespace).Get(t.Context(), "demo", metav1.GetOptions{})
			require.NoError(t, err)
			set := united.Spec.Template.CloneSetTemplate.Spec
			assert.Equal(t, pub.InPlaceIfPossiblePodUpdatePolicy, set.UpdateStrategy.RollingUpdate.PodUpdatePolicy)
			assert.Equal(t, intstr.FromInt32(3), *set.UpdateStrategy.RollingUpdate.MaxUnavailable)
			assert.True(t, set.ScaleStrategy.EnablePVCReuse)
			if version != "" {
				assert.Equal(t, version, united.ResourceVersion, "the same again changes nothing")
			}
			version = united.ResourceVersion
		}
	}
}
