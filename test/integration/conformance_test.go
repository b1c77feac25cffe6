//go:build integration

package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conformance lists the checks that every kind must pass, as built-in kinds do. Each check creates objects with other names. A
// registered kind is tested automatically.
var conformance = []struct {
	name  string
	check func(t *testing.T, k *kind)
}{
	{"discovery", checkDiscovery},
	{"explain", checkExplain},
	{"create and get", checkCreateAndGet},
	{"create again", checkCreateAgain},
	{"generation", checkGeneration},
	{"protobuf", checkProtobuf},
	{"table", checkTable},
	{"kubectl get", checkKubectlGet},
	{"list in pages", checkPages},
	{"selectors", checkSelectors},
	{"watch from a list", checkWatchList},
	{"metadata alone", checkMetadata},
	{"update conflict", checkConflict},
	{"patches", checkPatches},
	{"server-side apply", checkApply},
	{"status isolation", checkStatus},
	{"scale", checkScale},
	{"dry run", checkDryRun},
	{"delete", checkDelete},
	{"delete collection", checkDeleteCollection},
	{"finalizers", checkFinalizers},
	{"versions", checkVersions},
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(t) {
		t.Run(k.gvk.Kind, func(t *testing.T) {
			t.Parallel()
			k.run = newNamespace(t)
			if !k.about.ClusterScoped {
				k.namespace = k.run
			}
			k.prepare(t, k.run)
			for _, row := range conformance {
				t.Run(row.name, func(t *testing.T) { row.check(t, k) })
			}
			if k.about.ClusterScoped {
				options := metav1.ListOptions{LabelSelector: k.selector()}
				require.NoError(t, k.client().DeleteCollection(t.Context(), metav1.DeleteOptions{}, options))
			}
		})
	}
}

// TestConformanceOfNamespaceDeletion deletes a namespace that contains an object of each kind.
func TestConformanceOfNamespaceDeletion(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	var inside []*kind
	for _, k := range kinds(t) {
		if !k.about.ClusterScoped {
			k.run, k.namespace = namespace, namespace
			k.prepare(t, namespace)
			k.free(t, k.create(t, "last"))
			inside = append(inside, k)
		}
	}
	namespaces := env.kube.CoreV1().Namespaces()
	require.NoError(t, namespaces.Delete(t.Context(), namespace, metav1.DeleteOptions{}))
	left := &corev1.Namespace{}
	eventually(t, func() bool {
		got, err := namespaces.Get(t.Context(), namespace, metav1.GetOptions{})
		if err == nil && got.Status.String() != left.Status.String() {
			left = got
			t.Logf("not gone yet: %v", left.Status.Conditions)
		}
		return apierrors.IsNotFound(err)
	})
	for _, k := range inside {
		_, err := k.client().Get(t.Context(), k.name("last"), metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%s: %v", k.gvk.Kind, err)
		eventually(t, func() bool {
			_, err = k.client().Create(t.Context(), k.object("late"), metav1.CreateOptions{})
			// The server may not have seen yet that the namespace is gone. It creates nothing in any case.
			require.True(t, apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), "%s: %v", k.gvk.Kind, err)
			return apierrors.IsNotFound(err)
		})
	}
}
