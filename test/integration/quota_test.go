//go:build integration

package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// used returns the count of a resource in the quota, or -1 if it has none.
func used(t *testing.T, namespace string, name corev1.ResourceName) int64 {
	t.Helper()
	quota, err := env.kube.CoreV1().ResourceQuotas(namespace).Get(t.Context(), "few", metav1.GetOptions{})
	require.NoError(t, err)
	quantity, found := quota.Status.Used[name]
	if !found {
		return -1
	}
	return quantity.Value()
}

// waitCounted waits until kube-controller-manager has counted so many objects, in a copy of the quota that is as new as the last
// write. It changes the quota for that, because kube-controller-manager counts a quota again when the limits change.
//
// A test must call waitCounted before it deletes what it wants to see counted. kube-controller-manager compares its count with the
// copy of the quota that it has. If it counts one object left while its copy still says one, it writes nothing, and counts again
// only after five minutes.
func waitCounted(t *testing.T, namespace string, name corev1.ResourceName, want int64) {
	t.Helper()
	quotas := env.kube.CoreV1().ResourceQuotas(namespace)
	eventually(t, func() bool {
		before, err := quotas.Get(t.Context(), "few", metav1.GetOptions{})
		require.NoError(t, err)
		limit := before.Spec.Hard["count/configmaps"]
		limit.Add(resource.MustParse("1"))
		patch := fmt.Sprintf(`{"spec":{"hard":{"count/configmaps":"%s"}}}`, limit.String())
		_, err = quotas.Patch(t.Context(), "few", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		require.NoError(t, err)
		eventually(t, func() bool {
			after, err := quotas.Get(t.Context(), "few", metav1.GetOptions{})
			require.NoError(t, err)
			counted := after.Status.Hard["count/configmaps"]
			return counted.Equal(limit)
		})
		return used(t, namespace, name) == want
	})
}

// TestConformanceOfQuota fills a quota of each kind. This server enforces the quota, and kube-controller-manager counts again after
// a deletion. It looks for new kinds every 30 seconds. Each kind has a quota of its own: kube-controller-manager counts all kinds of a
// quota at once, and a count that began before the last creation lowers what the server has counted since.
func TestConformanceOfQuota(t *testing.T) {
	t.Parallel()
	counted := map[corev1.ResourceName]*kind{}
	for _, k := range kinds(t) {
		if k.about.ClusterScoped {
			continue
		}
		namespace, name := newNamespace(t), corev1.ResourceName("count/"+k.Resource().String())
		k.run, k.namespace, counted[name] = namespace, namespace, k
		k.prepare(t, namespace)
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Name: "few"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{name: resource.MustParse("2")}},
		}
		_, err := env.kube.CoreV1().ResourceQuotas(namespace).Create(t.Context(), quota, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for name, k := range counted {
		t.Run(k.gvk.Kind, func(t *testing.T) {
			waitCounted(t, k.namespace, name, 0)
			k.exceed(t, name)
		})
	}
}

// exceed creates one object more than the quota allows.
func (k *kind) exceed(t *testing.T, name corev1.ResourceName) {
	t.Helper()
	k.free(t, k.create(t, "quota-1"))
	k.create(t, "quota-2")
	assert.Equal(t, int64(2), used(t, k.namespace, name), "shown at once")
	third := func(dryRun ...string) error {
		_, err := k.client().Create(t.Context(), k.object("quota-3"), metav1.CreateOptions{DryRun: dryRun})
		return err
	}
	for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
		err := third(dryRun...)
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		for _, want := range []string{"exceeded quota: few", "requested: " + string(name) + "=1", "used: " + string(name) + "=2", "limited: " + string(name) + "=2"} {
			assert.ErrorContains(t, err, want)
		}
	}
	waitCounted(t, k.namespace, name, 2)
	require.NoError(t, k.client().Delete(t.Context(), k.name("quota-1"), metav1.DeleteOptions{}))
	eventually(t, func() bool { return used(t, k.namespace, name) == 1 })
	eventually(t, func() bool { return third(metav1.DryRunAll) == nil }) // the server hears of it a moment later
	assert.Equal(t, int64(1), used(t, k.namespace, name), "a dry run counts nothing")
	eventually(t, func() bool { return third() == nil })
}
