//go:build integration

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apiserver"
)

// dependent creates a ConfigMap that the object owns.
func (k *kind) dependent(t *testing.T, namespace string, owner *unstructured.Unstructured) {
	t.Helper()
	reference := metav1.OwnerReference{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), BlockOwnerDeletion: new(true),
	}
	_, err := env.kube.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: configMapOf(owner), OwnerReferences: []metav1.OwnerReference{reference}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func configMapOf(owner *unstructured.Unstructured) string { return "of-" + string(owner.GetUID()) }

// ownable are resources whose objects a CloneSet owns in this test: one that our controllers create, and others that users give an owner.
var ownable = []struct {
	resource schema.GroupVersionResource
	kind     string
	fields   map[string]any
}{
	{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", nil},
	{schema.GroupVersionResource{Version: "v1", Resource: "services"}, "Service", map[string]any{
		"ports": []any{map[string]any{"port": int64(80)}},
	}},
	{schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}, "Ingress", map[string]any{
		"defaultBackend": map[string]any{"service": map[string]any{"name": "web", "port": map[string]any{"number": int64(80)}}},
	}},
	{schema.GroupVersionResource{Group: "garbage.example.com", Version: "v1", Resource: "widgets"}, "Widget", map[string]any{}},
}

// withWidgets creates the definition of the custom resource.
func withWidgets(t *testing.T) {
	t.Helper()
	definition := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.garbage.example.com"},
		"spec":{"group":"garbage.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
		"x-kubernetes-preserve-unknown-fields":true}}}]}}`
	out, err := kubectl(t, definition, "apply", "-f", "-")
	require.NoError(t, err, out)
	t.Cleanup(func() {
		_, _ = kubectl(t, "", "delete", "customresourcedefinition", "widgets.garbage.example.com", "--wait=false")
	})
	established(t, "widgets.garbage.example.com")
}

// asksBeforeCollecting applies the webhook that asks about deletions by the garbage collector, and waits until it is effective for all
// kinds.
func asksBeforeCollecting(t *testing.T, namespace string, owner *v1beta1.CloneSet) {
	t.Helper()
	text, err := output(env.cluster.Binary("helm"), "template", "kruise", "../../artifacts/helm/kruise", "--kube-version=1.36.3",
		"--show-only=templates/apiserver/garbage.yaml")
	require.NoError(t, err)
	out, err := kubectl(t, text, "apply", "-f", "-")
	require.NoError(t, err, out)
	owned(t, namespace, "probe", owner)
	config := rest.CopyConfig(env.config)
	config.Impersonate.UserName = "system:serviceaccount:kube-system:generic-garbage-collector"
	config.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	collector, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	for _, of := range ownable {
		eventually(t, func() bool {
			err := collector.Resource(of.resource).Namespace(namespace).Delete(t.Context(), "probe",
				metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
			return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "which owns it, exists")
		})
	}
}

// collectorKnowsKinds waits until the garbage collector deletes what a CloneSet owned. It looks for new kinds twice a minute.
func collectorKnowsKinds(t *testing.T, namespace string) {
	t.Helper()
	set := newCloneSet("known")
	set.Spec.Replicas = new(int32)
	created, err := env.kruise.AppsV1beta1().CloneSets(namespace).Create(t.Context(), set, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, env.kruise.AppsV1beta1().CloneSets(namespace).Delete(t.Context(), "known", metav1.DeleteOptions{}))
	owned(t, namespace, "of-known", created)
	areCollected(t, namespace, "of-known")
}

// owned creates an object of each ownable kind that a CloneSet owns. The reference has a version that the garbage collector does not watch,
// so it reads the owner.
func owned(t *testing.T, namespace, name string, owner *v1beta1.CloneSet) {
	t.Helper()
	client, err := dynamic.NewForConfig(env.config)
	require.NoError(t, err)
	for _, of := range ownable {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": of.resource.GroupVersion().String(), "kind": of.kind, "metadata": map[string]any{
				"name": name, "ownerReferences": []any{map[string]any{
					"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "name": owner.Name, "uid": string(owner.UID),
				}},
			},
		}}
		if of.fields != nil {
			object.Object["spec"] = runtime.DeepCopyJSON(of.fields)
		}
		_, err := client.Resource(of.resource).Namespace(namespace).Create(t.Context(), object, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

// areCollected waits until the objects of owned are deleted.
func areCollected(t *testing.T, namespace, name string) {
	t.Helper()
	client, err := dynamic.NewForConfig(env.config)
	require.NoError(t, err)
	for _, of := range ownable {
		eventually(t, func() bool {
			_, err := client.Resource(of.resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
}

// TestMissingAPIServicesLoseNoDependents deletes the APIServices. kube-apiserver then answers 404 for every Kruise object, and the
// garbage collector would delete what they own.
// Not parallel: it deletes the APIServices.
func TestMissingAPIServicesLoseNoDependents(t *testing.T) {
	namespace := newNamespace(t)
	withWidgets(t)
	set := newCloneSet("owner")
	set.Spec.Replicas = new(int32)
	created, err := env.kruise.AppsV1beta1().CloneSets(namespace).Create(t.Context(), set, metav1.CreateOptions{})
	require.NoError(t, err)
	asksBeforeCollecting(t, namespace, created)
	collectorKnowsKinds(t, namespace)
	names := []string{"probe"}
	services := env.aggregator.ApiregistrationV1().APIServices()
	t.Cleanup(func() { require.NoError(t, env.server.publish(context.WithoutCancel(t.Context()))) })
	for _, name := range apiserver.APIServices(env.gate) {
		require.NoError(t, services.Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	eventually(t, func() bool {
		_, err := env.kruise.AppsV1beta1().CloneSets(namespace).Get(t.Context(), "owner", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	for i := range 5 {
		name := fmt.Sprintf("owned-%d", i)
		owned(t, namespace, name, created)
		names = append(names, name)
		<-time.After(time.Second)
	}
	require.NoError(t, env.server.publish(t.Context()))
	eventually(t, func() bool {
		_, err := env.kruise.AppsV1beta1().CloneSets(namespace).Get(t.Context(), "owner", metav1.GetOptions{})
		return err == nil
	})
	client, err := dynamic.NewForConfig(env.config)
	require.NoError(t, err)
	for _, name := range names {
		for _, of := range ownable {
			_, err := client.Resource(of.resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err, "the owner of %s %s exists", of.kind, name)
		}
	}
	require.NoError(t, env.kruise.AppsV1beta1().CloneSets(namespace).Delete(t.Context(), "owner", metav1.DeleteOptions{}))
	for _, name := range names {
		areCollected(t, namespace, name)
	}
}

// untilSeen waits until the garbage collector has seen all earlier objects. It processes them in order, and deletes the last one,
// whose owner does not exist. It would not orphan ConfigMaps that it has not seen.
func untilSeen(t *testing.T, namespace string) {
	t.Helper()
	configMaps := env.kube.CoreV1().ConfigMaps(namespace)
	_, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "of-nobody",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "nobody", UID: "never-was"}},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, func() bool {
		_, err := configMaps.Get(t.Context(), "of-nobody", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// TestConformanceOfGarbageCollection deletes owners of every kind with every propagation policy at the same time, because the
// collector looks for new kinds only twice a minute.
func TestConformanceOfGarbageCollection(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	ways := []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan}
	type deleted struct {
		*kind
		way   metav1.DeletionPropagation
		owner *unstructured.Unstructured
	}
	var all []deleted
	for _, k := range kinds(t) {
		k.run = namespace
		if !k.about.ClusterScoped {
			k.namespace = namespace
		}
		k.prepare(t, namespace)
		for _, way := range ways {
			owner := k.create(t, "owner-"+map[metav1.DeletionPropagation]string{
				metav1.DeletePropagationForeground: "f", metav1.DeletePropagationBackground: "b", metav1.DeletePropagationOrphan: "o",
			}[way])
			k.free(t, owner)
			k.dependent(t, namespace, owner)
			all = append(all, deleted{k, way, owner})
		}
	}
	untilSeen(t, namespace)
	for _, d := range all {
		options := metav1.DeleteOptions{PropagationPolicy: new(d.way)}
		require.NoError(t, d.client().Delete(t.Context(), d.owner.GetName(), options))
	}
	for _, d := range all {
		t.Run(d.gvk.Kind+" "+string(d.way), func(t *testing.T) {
			eventually(t, func() bool { return d.gone(t, d.owner) })
			eventually(t, func() bool {
				left, err := env.kube.CoreV1().ConfigMaps(namespace).Get(t.Context(), configMapOf(d.owner), metav1.GetOptions{})
				if d.way == metav1.DeletePropagationOrphan {
					require.NoError(t, err)
					return len(left.OwnerReferences) == 0
				}
				return apierrors.IsNotFound(err)
			})
		})
	}
}

// The garbage collector releases the dependents that it has seen, and then removes the finalizer orphan. Here a user removes it at once, as
// a garbage collector would that has seen none.
func TestOrphansAreReleasedBeforeTheirOwnerGoes(t *testing.T) {
	t.Parallel()
	const dependents = 10
	client := cloneSets(t)
	owner := newCloneSet("owner")
	owner.Spec.Replicas = new(int32)
	created := create(t, client, owner)
	for i := range dependents {
		kept := newCloneSet(fmt.Sprintf("kept-%d", i))
		kept.Spec.Replicas = new(int32)
		kept.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "owner", UID: created.UID}}
		create(t, client, kept)
	}
	orphan := metav1.DeletePropagationOrphan
	require.NoError(t, client.Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &orphan}))
	refusals := 0
	gone := func() bool {
		_, err := client.Patch(t.Context(), "owner", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if apierrors.IsConflict(err) {
			refusals++
		}
		return apierrors.IsNotFound(err)
	}
	if !gone() {
		eventually(t, gone)
	}
	t.Logf("refused %d times", refusals) // None, if the garbage collector was faster.
	metrics, err := env.server.get(t.Context(), "/metrics")
	require.NoError(t, err)
	require.Contains(t, string(metrics), `index="f:owner"`, "the dependents are found by the index of the cache")
	for i := range dependents {
		released, err := client.Get(t.Context(), fmt.Sprintf("kept-%d", i), metav1.GetOptions{})
		require.NoError(t, err)
		require.Empty(t, released.OwnerReferences)
		require.Nil(t, released.DeletionTimestamp)
	}
}
