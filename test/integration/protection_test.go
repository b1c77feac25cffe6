//go:build integration

package integration

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	forbiddenAlways    = "forbidden by ResourcesProtectionDeletion for " + protectionLabel + "=Always"
	forbiddenCascading = "forbidden by ResourcesProtectionDeletion for " + protectionLabel + "=Cascading"
)

// output runs a program and returns its output.
func output(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return string(out), nil
}

// apply applies objects to a namespace.
func apply(t *testing.T, namespace, text string) string {
	t.Helper()
	out, err := kubectl(t, text, "--namespace", namespace, "apply", "-f", "-")
	require.NoError(t, err, out)
	return out
}

// refuses checks that kubectl gets 403 with the text.
func refuses(t *testing.T, want string, args ...string) {
	t.Helper()
	out, err := kubectl(t, "", args...)
	require.Error(t, err, "%v: %s", args, out)
	assert.Contains(t, out, "Error from server (Forbidden)")
	assert.Contains(t, out, want)
}

// refusedInEveryWay uses every way to delete the object, and expects a refusal each time.
func refusedInEveryWay(t *testing.T, want string, object ...string) {
	t.Helper()
	for _, way := range [][]string{
		nil, {"--dry-run=server"}, {"--force", "--grace-period=0"}, {"--cascade=orphan"}, {"--cascade=foreground"}, {"--cascade=background"},
	} {
		refuses(t, want, append(append([]string{"delete"}, object...), way...)...)
	}
}

// Case deletion-protection 1.
func TestEmptyNamespaceIsProtectedAlways(t *testing.T) {
	t.Parallel()
	namespace := protected(t)
	label(t, "namespace", namespace, "Always")
	refusedInEveryWay(t, forbiddenAlways, "namespace", namespace)
	label(t, "namespace", namespace, "")
	mustKubectl(t, "delete", "namespace", namespace, "--wait=false")
}

// Cases deletion-protection 2, 3, 15.
func TestActivePodsProtectTheirNamespace(t *testing.T) {
	t.Parallel()
	namespace := protected(t)
	label(t, "namespace", namespace, "Cascading")
	pods := env.kube.CoreV1().Pods(namespace)
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		pod := pendingPod(t, namespace)
		_, err := pods.Patch(t.Context(), pod.Name, types.MergePatchType, []byte(`{"status":{"phase":"`+string(phase)+`"}}`), metav1.PatchOptions{}, "status")
		require.NoError(t, err)
	}
	leaving := pendingPod(t, namespace)
	_, err := pods.Patch(t.Context(), leaving.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/stay"]}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, pods.Delete(t.Context(), leaving.Name, metav1.DeleteOptions{}))
	t.Cleanup(func() {
		_, _ = pods.Patch(context.WithoutCancel(t.Context()), leaving.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})

	pending := pendingPod(t, namespace)
	refusedInEveryWay(t, forbiddenCascading+" and active pods 1>0", "namespace", namespace)
	require.NoError(t, pods.Delete(t.Context(), pending.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	mustKubectl(t, "delete", "namespace", namespace, "--wait=false")
	mustKubectl(t, "delete", "namespace", namespace, "--wait=false") // It is terminating.
}

// Case deletion-protection 4.
func TestBoundClaimsProtectTheirNamespace(t *testing.T) {
	t.Parallel()
	namespace := protected(t)
	label(t, "namespace", namespace, "Cascading")
	const storage = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s}
spec: {capacity: {storage: 1Mi}, accessModes: [ReadWriteOnce], hostPath: {path: /none}, storageClassName: "", claimRef: {namespace: %[1]s, name: %[2]s}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %[2]s}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: %[3]s, resources: {requests: {storage: 1Mi}}}
`
	apply(t, namespace, fmt.Sprintf(strings.SplitN(storage, "---", 2)[1], namespace, "pending", "no-such-volume"))
	mustKubectl(t, "delete", "namespace", namespace, "--dry-run=server")
	apply(t, namespace, fmt.Sprintf(storage, namespace, "bound", namespace))
	t.Cleanup(func() { _, _ = kubectl(t, "", "delete", "persistentvolume", namespace, "--wait=false") })
	mustKubectl(t, "--namespace", namespace, "wait", "persistentvolumeclaim/bound", "--for=jsonpath={.status.phase}=Bound", "--timeout=60s")
	refuses(t, forbiddenCascading+` and "Bound" status pvc 1>0`, "delete", "namespace", namespace)
	mustKubectl(t, "--namespace", namespace, "delete", "persistentvolumeclaim", "bound", "--wait=false")
	mustKubectl(t, "delete", "namespace", namespace, "--wait=false")
}

// workloads returns objects of our protected kinds in each version, with two replicas.
var workloads = map[string]string{
	"cloneset.v1alpha1.apps.kruise.io":         "apiVersion: apps.kruise.io/v1alpha1\nkind: CloneSet",
	"cloneset.v1beta1.apps.kruise.io":          "apiVersion: apps.kruise.io/v1beta1\nkind: CloneSet",
	"statefulset.v1alpha1.apps.kruise.io":      "apiVersion: apps.kruise.io/v1alpha1\nkind: StatefulSet",
	"statefulset.v1beta1.apps.kruise.io":       "apiVersion: apps.kruise.io/v1beta1\nkind: StatefulSet",
	"uniteddeployment.v1alpha1.apps.kruise.io": "apiVersion: apps.kruise.io/v1alpha1\nkind: UnitedDeployment",
}

const workloadSpec = `
metadata: {name: web, labels: {policy.kruise.io/delete-protection: %s}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "kruise.local/demo:v1"}]}
`

const unitedSpec = `
metadata: {name: web, labels: {policy.kruise.io/delete-protection: %s}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  topology: {subsets: [{name: a}]}
  template:
    statefulSetTemplate:
      metadata: {labels: {app: web}}
      spec:
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: web, image: "kruise.local/demo:v1"}]}
`

func workload(resource, protection string) string {
	spec := workloadSpec
	if strings.HasPrefix(resource, "united") {
		spec = unitedSpec
	}
	return workloads[resource] + fmt.Sprintf(spec, protection)
}

// Cases deletion-protection 5, 6, 7, 8, 9, 13.
// Case lifecycle 18.
func TestReplicasProtectOurWorkloads(t *testing.T) {
	t.Parallel()
	for resource := range workloads {
		t.Run(resource, func(t *testing.T) {
			namespace := newNamespace(t)
			in := func(args ...string) []string { return append([]string{"--namespace", namespace}, args...) }
			apply(t, namespace, workload(resource, "Cascading"))
			refusedInEveryWay(t, forbiddenCascading+" and replicas 2>0", in(resource, "web")...)
			mustKubectl(t, in("patch", resource, "web", "--type=merge", "-p", `{"spec":{"replicas":0}}`)...)
			mustKubectl(t, in("delete", resource, "web", "--dry-run=server")...)
			mustKubectl(t, in("label", resource, "web", "--overwrite", protectionLabel+"=Always")...)
			refusedInEveryWay(t, forbiddenAlways, in(resource, "web")...)
			mustKubectl(t, in("label", resource, "web", "--overwrite", protectionLabel+"=always")...)
			mustKubectl(t, in("delete", resource, "web")...)
		})
	}
}

// The manifest does not set replicas, so the default applies.
// Case deletion-protection 9.
// Case uniteddeployment 14.
func TestDefaultedReplicasProtectToo(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	resource := "uniteddeployment.v1alpha1.apps.kruise.io"
	apply(t, namespace, strings.Replace(workload(resource, "Cascading"), "  replicas: 2\n", "", 1))
	refuses(t, forbiddenCascading+" and replicas 1>0", "--namespace", namespace, "delete", resource, "web")
}

// Case deletion-protection 7.
func TestReplicasProtectWorkloadsOfTheHost(t *testing.T) {
	t.Parallel()
	namespace := protected(t)
	for _, kind := range []string{"Deployment", "ReplicaSet", "StatefulSet"} {
		t.Run(kind, func(t *testing.T) {
			in := func(args ...string) []string { return append([]string{"--namespace", namespace}, args...) }
			resource := strings.ToLower(kind) + "s.apps"
			apply(t, namespace, "apiVersion: apps/v1\nkind: "+kind+fmt.Sprintf(workloadSpec, "Cascading"))
			refusedInEveryWay(t, forbiddenCascading+" and replicas 2>0", in(resource, "web")...)
			mustKubectl(t, in("scale", resource, "web", "--replicas=0")...)
			mustKubectl(t, in("delete", resource, "web", "--dry-run=server")...)
			mustKubectl(t, in("label", resource, "web", "--overwrite", protectionLabel+"=Always")...)
			refusedInEveryWay(t, forbiddenAlways, in(resource, "web")...)
			mustKubectl(t, in("label", resource, "web", protectionLabel+"-")...)
			mustKubectl(t, in("delete", resource, "web")...)
		})
	}
}

// Cases deletion-protection 10, 11, 15.
func TestCustomResourcesProtectTheirDefinition(t *testing.T) {
	t.Parallel()
	namespace := protected(t)
	plural := "toys" + strings.ReplaceAll(namespace, "-", "")
	name := plural + ".example.com"
	definition := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.example.com, labels: {policy.kruise.io/delete-protection: Cascading}}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: %[1]s, kind: Toy%[1]s}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`, plural)
	apply(t, namespace, definition)
	t.Cleanup(func() {
		_, _ = kubectl(t, "", "label", "customresourcedefinition", name, protectionLabel+"-")
		_, _ = kubectl(t, "", "delete", "customresourcedefinition", name, "--wait=false")
	})
	established(t, name)
	toy := "apiVersion: example.com/v1\nkind: Toy" + plural + "\nmetadata: {name: bear, finalizers: [example.com/stay]}\n"
	eventually(t, func() bool {
		_, err := kubectl(t, toy, "--namespace", namespace, "apply", "-f", "-")
		return err == nil
	})
	eventually(t, func() bool { // the role is put together by kube-controller-manager
		out, _ := kubectl(t, "", "delete", "customresourcedefinition", name, "--dry-run=server")
		return !strings.Contains(out, "grant the verb list")
	})
	refusedInEveryWay(t, forbiddenCascading+" and active CRs 1>0", "customresourcedefinition", name)
	label(t, "customresourcedefinition", name, "Always")
	refuses(t, forbiddenAlways, "delete", "customresourcedefinition", name)
	label(t, "customresourcedefinition", name, "Cascading")
	mustKubectl(t, "--namespace", namespace, "delete", name, "bear", "--wait=false")
	mustKubectl(t, "delete", "customresourcedefinition", name, "--wait=false")
	mustKubectl(t, "delete", "customresourcedefinition", name, "--wait=false") // It is terminating.
	mustKubectl(t, "--namespace", namespace, "patch", name, "bear", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	mustKubectl(t, "wait", "customresourcedefinition", name, "--for=delete", "--timeout=60s")
}

// Case deletion-protection 12.
func TestServicesAndIngressesAreProtectedAlwaysOrNot(t *testing.T) {
	t.Parallel()
	namespace := protected(t)
	objects := map[string]string{
		"service": "apiVersion: v1\nkind: Service\nmetadata: {name: web, labels: {policy.kruise.io/delete-protection: %s}}\nspec: {ports: [{port: 80}]}\n",
		"ingress": "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, labels: {policy.kruise.io/delete-protection: %s}}\n" +
			"spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}\n",
	}
	for resource, text := range objects {
		t.Run(resource, func(t *testing.T) {
			assert.NotContains(t, apply(t, namespace, fmt.Sprintf(text, "Always")), "Warning")
			refusedInEveryWay(t, forbiddenAlways, "--namespace", namespace, resource, "web")
			assert.Contains(t, apply(t, namespace, fmt.Sprintf(text, "Cascading")), "Warning: ")
			mustKubectl(t, "--namespace", namespace, "delete", resource, "web")
		})
	}
}

// TestIneffectiveLabelsWarn checks that a label without effect causes a warning when it is written, and only then.
func TestIneffectiveLabelsWarn(t *testing.T) {
	t.Parallel()
	namespace := protected(t)
	for object, warned := range map[string]string{
		workload("cloneset.v1beta1.apps.kruise.io", "always"):                       `Warning: label policy.kruise.io/delete-protection="always" has no effect: use Always or Cascading`,
		"apiVersion: apps/v1\nkind: Deployment" + fmt.Sprintf(workloadSpec, "Sure"): "label policy.kruise.io/delete-protection='Sure' has no effect: use Always or Cascading",
	} {
		assert.Contains(t, apply(t, namespace, object), warned)
		assert.NotContains(t, apply(t, namespace, strings.Replace(object, "replicas: 2", "replicas: 0", 1)), "Warning")
	}
}

// Case deletion-protection 14.
func TestNothingIsProtectedWithoutTheGate(t *testing.T) {
	t.Parallel()
	s := alone(t, "unprotected", "--feature-gates=ResourcesDeletionProtection=false")
	client := s.client(t, newNamespace(t))
	cloneSet := newCloneSet("demo")
	cloneSet.Labels[protectionLabel] = "Always"
	create(t, client, cloneSet)
	assert.NoError(t, client.Delete(t.Context(), "demo", metav1.DeleteOptions{}))
}

// Case deletion-protection 15.
func TestTerminatingObjectsMayBeDeletedAgain(t *testing.T) {
	t.Parallel()
	client := cloneSets(t)
	cloneSet := newCloneSet("demo")
	cloneSet.Finalizers = []string{"example.com/stay"}
	create(t, client, cloneSet)
	require.NoError(t, client.Delete(t.Context(), "demo", metav1.DeleteOptions{}))
	_, err := client.Patch(t.Context(), "demo", types.MergePatchType, []byte(`{"metadata":{"labels":{"policy.kruise.io/delete-protection":"Always"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	assert.NoError(t, client.Delete(t.Context(), "demo", metav1.DeleteOptions{}))
	_, err = client.Patch(t.Context(), "demo", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
}

// Case deletion-protection 16.
func TestCollectionKeepsItsProtectedObject(t *testing.T) {
	t.Parallel()
	client := cloneSets(t)
	for _, name := range []string{"a", "b", "c"} {
		cloneSet := newCloneSet(name)
		if name == "b" {
			cloneSet.Labels[protectionLabel] = "Always"
		}
		create(t, client, cloneSet)
	}
	t.Cleanup(func() {
		_, _ = client.Patch(context.WithoutCancel(t.Context()), "b", types.MergePatchType, []byte(`{"metadata":{"labels":null}}`), metav1.PatchOptions{})
	})
	err := client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, `clonesets.apps.kruise.io "b" is forbidden: `+forbiddenAlways)
	_, err = client.Get(t.Context(), "b", metav1.GetOptions{})
	assert.NoError(t, err)
}

// Preconditions also work.
// Case deletion-protection 17.
// Case metrics 4.
func TestDryRunsAreRefusedAndNotCounted(t *testing.T) {
	t.Parallel()
	client := cloneSets(t)
	cloneSet := newCloneSet("counted")
	cloneSet.Labels[protectionLabel] = "Always"
	created := create(t, client, cloneSet)
	counted := func() bool {
		data, err := env.server.get(t.Context(), "/metrics")
		require.NoError(t, err)
		return strings.Contains(string(data), fmt.Sprintf(`workload_deletion_protection{kind_namespace_name="CloneSet_%s_counted",username=`, created.Namespace))
	}
	err := client.Delete(t.Context(), "counted", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.False(t, counted())
	err = client.Delete(t.Context(), "counted", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("another")})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	assert.False(t, counted())
	err = client.Delete(t.Context(), "counted", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(created.UID))})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.True(t, counted())
}

// The namespace is deleted with all its objects, of Kruise and of Kubernetes.
// Case deletion-protection 20.
func TestNamespaceOfProtectedObjectsIsDeleted(t *testing.T) {
	t.Parallel()
	namespace := protected(t)
	apply(t, namespace, workload("cloneset.v1beta1.apps.kruise.io", "Always"))
	apply(t, namespace, "apiVersion: apps/v1\nkind: Deployment"+fmt.Sprintf(workloadSpec, "Cascading"))
	apply(t, namespace, "apiVersion: v1\nkind: Service\nmetadata: {name: web, labels: {policy.kruise.io/delete-protection: Always}}\nspec: {ports: [{port: 80}]}\n")
	mustKubectl(t, "delete", "namespace", namespace, "--timeout=5m")
}
