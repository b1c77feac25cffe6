//go:build integration

package integration

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Autoscalers use the polymorphic scale client, which reads the version of /scale from discovery.
// Case cloneset 34.
func TestAutoscalersReadAndSetScale(t *testing.T) {
	t.Parallel()
	client := cloneSets(t)
	created := create(t, client, newCloneSet("demo"))
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(env.kube.Discovery()))
	scales, err := scale.NewForConfig(env.config, mapper, dynamic.LegacyAPIPathResolverFunc,
		scale.NewDiscoveryScaleKindResolver(env.kube.Discovery()))
	require.NoError(t, err)
	resource := schema.GroupResource{Group: "apps.kruise.io", Resource: "clonesets"}
	shown, err := scales.Scales(created.Namespace).Get(t.Context(), resource, "demo", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "app=demo", shown.Status.Selector)
	shown.Spec.Replicas = 9
	_, err = scales.Scales(created.Namespace).Update(t.Context(), resource, shown, metav1.UpdateOptions{})
	require.NoError(t, err)
	after, err := client.Get(t.Context(), "demo", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(9), *after.Spec.Replicas)
}

func TestScaleByKubectl(t *testing.T) {
	t.Parallel()
	client := cloneSets(t)
	created := create(t, client, newCloneSet("demo"))
	mustKubectl(t, "scale", "clone/demo", "--replicas=4", "-n", created.Namespace)
	assert.Regexp(t, `DESIRED +TOTAL +AGE\ndemo +4 +0`, mustKubectl(t, "get", "clone/demo", "--subresource=scale", "-n", created.Namespace))
	assert.Contains(t, mustKubectl(t, "get", "clone/demo", "--subresource=status", "-n", created.Namespace), "UPDATED_READY")
	after, err := client.Get(t.Context(), "demo", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(4), *after.Spec.Replicas)
}

// An autoscaler cannot correct the rest of the spec, so /scale also accepts numbers that the rules of the kind would refuse. The
// controllers report what they cannot reach.
// Case uniteddeployment 26.
func TestScaleIsNotJudgedByTheRestOfTheSpec(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	manifest := "apiVersion: apps.kruise.io/v1beta1\nkind: UnitedDeployment" + fmt.Sprintf(unitedSpec, "Cascading")
	manifest = strings.Replace(manifest, "{name: a}", "{name: a, replicas: 1}, {name: b}", 1)
	out, err := kubectl(t, manifest, "apply", "-n", namespace, "-f", "-")
	require.NoError(t, err, out)
	mustKubectl(t, "scale", "uniteddeployment/web", "--replicas=0", "-n", namespace)
	assert.Equal(t, "0", mustKubectl(t, "get", "uniteddeployment/web", "-n", namespace, "-o", "jsonpath={.spec.replicas}"))
	mustKubectl(t, "label", "uniteddeployment/web", "a=b", "-n", namespace) // What is stored already is not refused.
	out, err = kubectl(t, "", "patch", "uniteddeployment/web", "-n", namespace, "--type=merge", "-p", `{"spec":{"topology":{"subsets":[{"name":"a","replicas":2}]}}}`)
	assert.Error(t, err, out)

	still := newCloneSet("still")
	still.Spec.Replicas, still.Spec.UpdateStrategy.RollingUpdate = new(int32(0)), &v1beta1.RollingUpdateCloneSetStrategy{
		MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromInt32(0)),
	}
	create(t, env.kruise.AppsV1beta1().CloneSets(namespace), still)
	mustKubectl(t, "scale", "clone/still", "--replicas=3", "-n", namespace)
}

// A client that writes /scale becomes the owner of spec.replicas, as with a Deployment.
func TestScaleTakesOwnership(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	client := env.kruise.AppsV1beta1().CloneSets(namespace)
	manifest := `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":"demo","namespace":"` + namespace + `"},
"spec":{"replicas":REPLICAS,"selector":{"matchLabels":{"app":"demo"}},
"template":{"metadata":{"labels":{"app":"demo"}},"spec":{"containers":[{"name":"web","image":"demo:v1"}]}}}}`
	apply := func(replicas string, flags ...string) (string, error) {
		return kubectl(t, strings.Replace(manifest, "REPLICAS", replicas, 1), append([]string{"apply", "--server-side", "--field-manager=me", "-f", "-"}, flags...)...)
	}
	out, err := apply("2")
	require.NoError(t, err, out)
	mustKubectl(t, "scale", "clone/demo", "--replicas=6", "-n", namespace)
	assert.Equal(t, []string{filepath.Base(env.cluster.Binary("kubectl"))}, owners(t, client, "f:replicas"))

	out, err = apply("2")
	require.Error(t, err)
	assert.Contains(t, out, "conflict")
	assert.Contains(t, out, ".spec.replicas")

	out, err = apply("2", "--force-conflicts")
	require.NoError(t, err, out)
	assert.Equal(t, []string{"me"}, owners(t, client, "f:replicas"))

	// Server-side apply also works with /scale.
	shown, err := client.GetScale(t.Context(), "demo", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(2), shown.Spec.Replicas)
	body := `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"demo"},"spec":{"replicas":8}}`
	err = env.kube.Discovery().RESTClient().Patch(types.ApplyPatchType).
		AbsPath("/apis/apps.kruise.io/v1beta1/namespaces", namespace, "clonesets/demo/scale").
		Param("fieldManager", "autoscaler").Param("force", "true").Body([]byte(body)).Do(t.Context()).Error()
	require.NoError(t, err)
	assert.Equal(t, []string{"autoscaler"}, owners(t, client, "f:replicas"))
}
