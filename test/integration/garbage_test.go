//go:build integration

package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// untilSeen waits until the garbage collector has seen all earlier ConfigMaps. It processes them in order, and deletes the last one,
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
