//go:build integration

package integration

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// valid is accepted in both versions. Each case makes one change that is not.
const valid = `{"apiVersion":"apps.kruise.io/VERSION","kind":"CloneSet","metadata":{"name":"demo"},"spec":{"replicas":1,
"selector":{"matchLabels":{"app":"demo"}},
"template":{"metadata":{"labels":{"app":"demo"}},"spec":{"containers":[{"name":"web","image":"demo:v1"}]}}}}`

func TestBadInputIsNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		old, broken string
		version     string
		wants       []string
	}{
		"valid v1beta1":  {version: "v1beta1"},
		"valid v1alpha1": {version: "v1alpha1"},
		"unknown field": {
			`"replicas":1`, `"replicas":1,"replica":2`, "v1beta1", []string{`unknown field "spec.replica"`},
		},
		"unknown field in the template": {
			`"image":"demo:v1"`, `"image":"demo:v1","imagee":"x"`, "v1alpha1", []string{`unknown field "spec.template.spec.containers[0].imagee"`},
		},
		"duplicate field": {
			`"replicas":1`, `"replicas":1,"replicas":2`, "v1beta1", []string{`duplicate field "spec.replicas"`},
		},
		"selector that does not match": {
			`"matchLabels":{"app":"demo"}`, `"matchLabels":{"app":"other"}`, "v1beta1",
			[]string{"spec.template.metadata.labels", `"app":"demo"`, "selector"},
		},
		"negative replicas": {
			`"replicas":1`, `"replicas":-3`, "v1beta1", []string{"spec.replicas", "-3", "greater than or equal to 0"},
		},
		"maxUnavailable abc": {
			`"replicas":1`, `"updateStrategy":{"rollingUpdate":{"maxUnavailable":"abc"}}`, "v1beta1",
			[]string{"spec.updateStrategy.rollingUpdate.maxUnavailable", `"abc"`},
		},
		"maxUnavailable abc in v1alpha1 has v1alpha1's path": {
			`"replicas":1`, `"updateStrategy":{"maxUnavailable":"abc"}`, "v1alpha1",
			[]string{"spec.updateStrategy.maxUnavailable", `"abc"`},
		},
		"invalid container name": {
			`"name":"web"`, `"name":"Web_1"`, "v1beta1",
			[]string{"spec.template.spec.containers[0].name", `"Web_1"`, "lower case alphanumeric"},
		},
		"wrong type": {
			`"replicas":1`, `"replicas":"many"`, "v1beta1", []string{"replicas"},
		},
	}
	namespace := newNamespace(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			body := strings.ReplaceAll(strings.Replace(valid, test.old, test.broken, 1), "VERSION", test.version)
			err := env.kube.Discovery().RESTClient().Post().
				AbsPath("/apis/apps.kruise.io", test.version, "namespaces", namespace, "clonesets").
				Param("fieldValidation", "Strict").SetHeader("Content-Type", "application/json").
				Body([]byte(body)).Do(t.Context()).Error()
			_, getErr := env.kruise.AppsV1beta1().CloneSets(namespace).Get(t.Context(), "demo", metav1.GetOptions{})
			if len(test.wants) == 0 {
				require.NoError(t, err)
				require.NoError(t, getErr)
				require.NoError(t, env.kruise.AppsV1beta1().CloneSets(namespace).Delete(t.Context(), "demo", metav1.DeleteOptions{}))
				return
			}
			require.Error(t, err)
			for _, want := range test.wants {
				assert.ErrorContains(t, err, want)
			}
			assert.True(t, apierrors.IsNotFound(getErr), "nothing is stored: %v", getErr)
		})
	}
}

// TestValuesThatJSONLacksAreNamed sends protobuf, which can contain values that JSON cannot. If one were stored, no client could list
// the kind.
func TestValuesThatJSONLacksAreNamed(t *testing.T) {
	t.Parallel()
	odd := &intstr.IntOrString{Type: 7}
	tests := map[string]struct {
		change func(*v1beta1.CloneSet)
		wants  []string
	}{
		"a pace": {
			func(c *v1beta1.CloneSet) {
				c.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{MaxUnavailable: odd}
			},
			[]string{"spec.updateStrategy.rollingUpdate.maxUnavailable", `"type 7"`, "must be an integer (type 0)"},
		},
		"a port of core's": {
			func(c *v1beta1.CloneSet) {
				c.Spec.Template.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
					ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: *odd}},
				}
			}, []string{"spec.template.spec.containers[0].readinessProbe.tcpSocket.port", `"type 7"`},
		},
		"no text": {
			func(c *v1beta1.CloneSet) { c.Annotations = map[string]string{"a": "\xff"} },
			[]string{"metadata.annotations[a]", "must be valid UTF-8"},
		},
		"a far time": {
			func(c *v1beta1.CloneSet) {
				c.ManagedFields = []metav1.ManagedFieldsEntry{{
					Manager: "test", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: v1beta1.SchemeGroupVersion.String(),
					FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`), Time: new(metav1.Unix(1<<40, 0)),
				}}
			}, []string{"metadata.managedFields[0].time", "years 0 to 9999"},
		},
	}
	client := cloneSets(t)
	stored := create(t, client, newCloneSet("stored"))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			created, updated := newCloneSet("created"), stored.DeepCopy()
			test.change(created)
			test.change(updated)
			_, createErr := client.Create(t.Context(), created, metav1.CreateOptions{})
			_, updateErr := client.Update(t.Context(), updated, metav1.UpdateOptions{})
			for _, err := range []error{createErr, updateErr} {
				require.True(t, apierrors.IsBadRequest(err), "%v", err)
				for _, want := range test.wants {
					assert.ErrorContains(t, err, want)
				}
			}
		})
	}
	list := &v1beta1.CloneSetList{}
	text, err := env.kube.Discovery().RESTClient().Get().
		AbsPath("/apis/apps.kruise.io/v1beta1/namespaces", stored.Namespace, "clonesets").
		SetHeader("Accept", "application/json").DoRaw(t.Context())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, list))
	assert.Len(t, list.Items, 1)
}

func TestTooLargeObjectsAreNamed(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 2<<20)
	tests := map[string]func(*v1beta1.CloneSet){
		"environment": func(c *v1beta1.CloneSet) {
			c.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LARGE", Value: large}}
		},
		"annotation": func(c *v1beta1.CloneSet) { c.Annotations = map[string]string{"large": large} },
	}
	client := cloneSets(t)
	check := func(t *testing.T, err error) {
		t.Helper()
		require.True(t, apierrors.IsRequestEntityTooLargeError(err), "%v", err)
		assert.Regexp(t, `the object needs 209\d{4} bytes in the store, but the limit is 1507328 bytes`, err.Error())
	}
	for name, grow := range tests {
		t.Run(name, func(t *testing.T) {
			cloneSet := newCloneSet(name)
			grow(cloneSet)
			for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
				_, err := client.Create(t.Context(), cloneSet, metav1.CreateOptions{DryRun: dryRun})
				check(t, err)
			}
			_, err := client.Get(t.Context(), name, metav1.GetOptions{})
			assert.True(t, apierrors.IsNotFound(err), "%v", err)

			small := create(t, client, newCloneSet(name))
			grow(small)
			_, err = client.Update(t.Context(), small, metav1.UpdateOptions{})
			check(t, err)
			stored, err := client.Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err)
			assert.Equal(t, small.ResourceVersion, stored.ResourceVersion)
		})
	}
	t.Run("grown by patches", func(t *testing.T) {
		create(t, client, newCloneSet("patched"))
		var err error
		for i := range 4 {
			part := `{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"E` + string(rune('A'+i)) + `","value":"` + large[:700<<10] + `"}]}]}}}}`
			if _, err = client.Patch(t.Context(), "patched", types.StrategicMergePatchType, []byte(part), metav1.PatchOptions{}); err != nil {
				break
			}
		}
		require.True(t, apierrors.IsRequestEntityTooLargeError(err), "%v", err)
	})
}

// Case cloneset 10.
func TestPodsToDeleteMustBeOurs(t *testing.T) {
	t.Parallel()
	client := cloneSets(t)
	cloneSet := newCloneSet("demo")
	cloneSet.Spec.ScaleStrategy.PodsToDelete = []string{"nobody"}
	_, err := client.Create(t.Context(), cloneSet, metav1.CreateOptions{})
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.ErrorContains(t, err, "spec.scaleStrategy.podsToDelete: Forbidden: a new CloneSet owns no Pods")

	created := create(t, client, newCloneSet("demo"))
	pods := env.kube.CoreV1().Pods(created.Namespace)
	for name, owners := range map[string][]metav1.OwnerReference{
		"ours":    {*metav1.NewControllerRef(created, v1beta1.SchemeGroupVersion.WithKind("CloneSet"))},
		"another": {*metav1.NewControllerRef(created, v1beta1.SchemeGroupVersion.WithKind("CloneSet"))},
		"foreign": nil,
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners, Labels: created.Spec.Selector.MatchLabels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}, ServiceAccountName: "default"},
		}
		_, err = pods.Create(t.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	name := func(pods ...string) error {
		body := `{"spec":{"scaleStrategy":{"podsToDelete":["` + strings.Join(pods, `","`) + `"]}}}`
		_, err := client.Patch(t.Context(), "demo", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	for _, pod := range []string{"foreign", "nobody"} {
		assert.ErrorContains(t, name(pod), `podsToDelete[0]: Invalid value: "`+pod+`": no Pod of this name in namespace `+created.Namespace)
	}
	assert.ErrorContains(t, name("ours", "nobody"), `podsToDelete[1]: Invalid value: "nobody"`)
	assert.NoError(t, name("ours"))
	assert.NoError(t, name("ours", "another"))
}

// Case cloneset 3.
func TestSelectorCannotChange(t *testing.T) {
	t.Parallel()
	client := cloneSets(t)
	create(t, client, newCloneSet("demo"))
	body := `{"spec":{"selector":{"matchLabels":{"app":"other"}},"template":{"metadata":{"labels":{"app":"other"}}}}}`
	_, err := client.Patch(t.Context(), "demo", types.MergePatchType, []byte(body), metav1.PatchOptions{})
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.ErrorContains(t, err, "spec.selector")
}

func TestWarningsOfTheTemplate(t *testing.T) {
	t.Parallel()
	out, err := kubectl(t, strings.ReplaceAll(strings.Replace(valid, `"image":"demo:v1"`,
		`"image":"demo:v1","env":[{"name":"A","value":"1"},{"name":"A","value":"2"}]`, 1), "VERSION", "v1beta1"),
		"create", "-n", newNamespace(t), "-f", "-")
	require.NoError(t, err, out)
	assert.Contains(t, out, "Warning: spec.template.spec.containers[0].env[1]")
}
