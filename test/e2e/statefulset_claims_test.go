//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// parallelSet returns a StatefulSet of two Pods in parallel, each with a diary in its volume. pairs replace text, before the parts of
// the manifest that this function replaces itself.
func parallelSet(pairs ...string) string {
	return statefulSet(ourGroup, append(pairs, orderedPolicy, parallelPolicy, "replicas: 3", "replicas: 2",
		"        volumeMounts:\n", diary+"        volumeMounts:\n")...)
}

const (
	parallelPolicy = "podManagementPolicy: Parallel"
	// mainImage precedes the tag of the main container's image.
	mainImage = "- name: main\n        image: kruise.local/demo:"
)

// holdFinalizer keeps an object while it is deleted, until the test removes it.
const holdFinalizer = "e2e.kruise.io/hold"

// claim returns a claim of the namespace.
func (e *env) claim(name string) *corev1.PersistentVolumeClaim {
	e.t.Helper()
	claim, err := e.core.CoreV1().PersistentVolumeClaims(e.namespace).Get(e.t.Context(), name, metav1.GetOptions{})
	require.NoError(e.t, err)
	return claim
}

// releaseClaim removes the finalizer of the test from a claim. It tries again if a controller changes the claim meanwhile.
func (e *env) releaseClaim(name string) {
	e.t.Helper()
	e.eventually("the finalizer of claim "+name+" is removed", func(c *require.Assertions, _ context.Context) {
		claim := e.claim(name)
		finalizers := slices.DeleteFunc(claim.Finalizers, func(finalizer string) bool { return finalizer == holdFinalizer })
		c.NoError(e.holds(claim, finalizers))
	})
}

// holds sets the finalizers of a claim. It returns an error if the claim has changed since it was read.
func (e *env) holds(claim *corev1.PersistentVolumeClaim, finalizers []string) error {
	e.t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": finalizers, "resourceVersion": claim.ResourceVersion}})
	require.NoError(e.t, err)
	_, err = e.core.CoreV1().PersistentVolumeClaims(e.namespace).Patch(e.t.Context(), claim.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// observed waits until the status of the StatefulSet is that of its newest generation and passes the check.
func (e *env) observed(what string, check func(c *require.Assertions, set *v1beta1.StatefulSet)) {
	e.t.Helper()
	e.eventually(what, func(c *require.Assertions, ctx context.Context) {
		set, err := e.kruise.AppsV1beta1().StatefulSets(e.namespace).Get(ctx, "web", metav1.GetOptions{})
		c.NoError(err)
		c.Equal(set.Generation, set.Status.ObservedGeneration, "observedGeneration")
		check(c, set)
	})
}

// volumeGone waits until a volume does not exist.
func (e *env) volumeGone(name string) {
	e.t.Helper()
	e.eventually("volume "+name+" is deleted", func(c *require.Assertions, ctx context.Context) {
		_, err := e.core.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
		c.True(apierrors.IsNotFound(err), "%v", err)
	})
}

// Scaling in deletes the claims and their volumes, if the policy says so. The next Pod of the number waits until they are gone and
// starts with an empty volume. With the other policy, the claims of a Pod outlive it, and go with the set.
// Cases statefulset 18, 19, 32.
func TestClaimsGoAsTheirPolicySays(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text := func(policy string, pairs ...string) string {
		return parallelSet(append(pairs, "  selector:\n", "  persistentVolumeClaimRetentionPolicy: "+policy+"\n  selector:\n")...)
	}
	e.apply(text("{whenScaled: Delete}"))
	e.settledSet(2, "web-0", "web-1")
	lines := e.firstLines("web-0", "web-1")
	var old *corev1.PersistentVolumeClaim
	require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		old = e.claim("data-web-1")
		return e.holds(old, append(old.Finalizers, holdFinalizer))
	}))

	e.apply(text("{whenScaled: Delete}", "replicas: 3", "replicas: 1"))
	e.observed("the Pod is gone", func(c *require.Assertions, set *v1beta1.StatefulSet) { c.EqualValues(1, set.Status.Replicas) })
	e.apply(text("{whenScaled: Delete}"))
	e.eventually("the set reports the claim that is being deleted", func(c *require.Assertions, ctx context.Context) {
		list, err := e.core.CoreV1().Events(e.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedCreate"})
		c.NoError(err)
		c.True(slices.ContainsFunc(list.Items, func(event corev1.Event) bool {
			return strings.Contains(event.Message, "pvc data-web-1 is to be deleted")
		}))
	})
	assert.Len(t, e.pods("web"), 1, "no Pod runs with the old volume")
	e.releaseClaim("data-web-1")
	e.settledSet(2, "web-0", "web-1")
	assert.NotEqual(t, old.UID, e.claim("data-web-1").UID)
	e.volumeGone(old.Spec.VolumeName)
	now := e.firstLines("web-0", "web-1")
	assert.Equal(t, lines["web-0"], now["web-0"])
	assert.NotEqual(t, lines["web-1"], now["web-1"], "an empty volume")

	e.apply(text("{whenDeleted: Delete}", "replicas: 3", "replicas: 1"))
	e.settledSet(1, "web-0")
	var volumes []string
	for _, name := range []string{"data-web-0", "data-web-1"} {
		volumes = append(volumes, e.claim(name).Spec.VolumeName)
	}
	e.kubectl("delete", asts, "web")
	e.eventually("no claim is left", func(c *require.Assertions, _ context.Context) { c.Empty(e.claims()) })
	for _, volume := range volumes {
		e.volumeGone(volume)
	}
}

// A reserved number keeps its claim. A Pod that is lost, or that its node ends, comes back to the same volume. A claim that is
// deleted while its Pod waits for a node is created again.
// Cases statefulset 11, 12, 24, 41.
func TestPodsComeBackToTheirVolumes(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	text := func(reserved string) string {
		return parallelSet("  selector:\n", "  reserveOrdinals: ["+reserved+"]\n  selector:\n",
			noGates, noGates+"      nodeSelector: {"+e.nodeLabel()+": chosen}\n")
	}
	e.apply(text(""))
	e.settledSet(2, "web-0", "web-1")
	lines, before := e.firstLines("web-0", "web-1"), e.uids()

	e.apply(text("0"))
	e.settledSet(2, "web-1", "web-2")
	e.apply(replaced(text("0"), "replicas: 2", "replicas: 1"))
	e.settledSet(1, "web-1")
	e.apply(text(""))
	e.settledSet(2, "web-0", "web-1")
	assert.Equal(t, before["web-1"], e.uids()["web-1"], "no reservation concerns it")
	assert.Equal(t, lines, e.firstLines("web-0", "web-1"), "after a reservation")

	before = e.uids()
	e.kubectl("delete", "pod", "web-0", "--force", "--grace-period=0")
	history := e.watchPods()
	e.kubectl("patch", "pod", "web-1", "--type=merge", "-p", `{"spec":{"activeDeadlineSeconds":1}}`)
	e.replacedPods(before, "web-0", "web-1")
	e.settledSet(2, "web-0", "web-1")
	assert.True(t, slices.ContainsFunc(history(), func(seen seenPod) bool {
		return seen.UID == before["web-1"] && seen.Status.Phase == corev1.PodFailed
	}), "the node ended the Pod")
	assert.Equal(t, lines, e.firstLines("web-0", "web-1"), "after the loss of both Pods")

	for _, node := range nodes {
		e.labelNode(t.Context(), node, e.nodeLabel(), `"other"`)
	}
	before = e.uids()
	e.kubectl("delete", "pod", "web-1")
	e.replacedPods(before, "web-1")
	old := e.claim("data-web-1").UID
	e.kubectl("delete", "persistentvolumeclaim", "data-web-1", "--wait=false")
	e.eventually("the claim is created again", func(c *require.Assertions, ctx context.Context) {
		claim, err := e.core.CoreV1().PersistentVolumeClaims(e.namespace).Get(ctx, "data-web-1", metav1.GetOptions{})
		c.NoError(err)
		c.NotEqual(old, claim.UID)
	})
	e.labelNode(t.Context(), nodes[0], e.nodeLabel(), `"chosen"`)
	e.settledSet(2, "web-0", "web-1")
	assert.NotEqual(t, lines["web-1"], e.firstLines("web-1")["web-1"], "an empty volume")
}

// replacedPods waits until each of the Pods has another UID than before.
func (e *env) replacedPods(before map[string]types.UID, names ...string) {
	e.t.Helper()
	e.eventually(strings.Join(names, ", ")+" replaced", func(c *require.Assertions, _ context.Context) {
		now := e.uids()
		for _, name := range names {
			c.NotEmpty(now[name], name)
			c.NotEqual(before[name], now[name], name)
		}
	})
}

// sizes waits until the claims have the sizes, in the order of their names, and the status counts the compatible ones.
func (e *env) sizes(compatible int32, sizes string) {
	e.t.Helper()
	e.observed("sizes "+sizes, func(c *require.Assertions, set *v1beta1.StatefulSet) {
		c.Equal(sizes, e.kubectl("get", "persistentvolumeclaims", "--output=jsonpath={.items[*].status.capacity.storage}"))
		c.Len(set.Status.VolumeClaims, 1)
		counts := set.Status.VolumeClaims[0]
		c.Equal([]int32{compatible, compatible}, []int32{counts.CompatibleReplicas, counts.CompatibleReadyReplicas})
	})
}

// A claim grows before its Pod is updated in place, and not with a Pod that a user picks for deletion. A rollback of the image grows the
// others too. A smaller template shrinks no claim. With OnDelete, no claim grows, and new Pods get the larger one. All files outlive this.
// Cases statefulset 23, 34, 35, 36, 37, 39.
func TestClaimsThroughPartitionsAndRollbacks(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text := func(strategy, image, size, partition string, pairs ...string) string {
		return statefulSet(ourGroup, append(pairs, orderedPolicy, parallelPolicy, noGates, inPlaceGate,
			"  volumeClaimTemplates:\n", "  volumeClaimUpdateStrategy: {type: "+strategy+"}\n  volumeClaimTemplates:\n",
			inOrderUpdate, inPlaceUpdate+"      partition: "+partition+"\n",
			"storage: 10Mi", "storage: "+size, mainImage+"v1", mainImage+image,
			"        volumeMounts:\n", diary+"        volumeMounts:\n")...)
	}
	const grow, stay = "OnPodRollingUpdate", "OnDelete"
	names := []string{"web-0", "web-1", "web-2"}
	e.apply(text(grow, "v1", "10Mi", "0"))
	first := e.settledSet(3, names...).Status.UpdateRevision
	before, lines := e.uids(), e.firstLines(names...)

	e.apply(text(grow, "v2", "20Mi", "2"))
	e.settledSet(1, names...)
	e.sizes(1, "10Mi 10Mi 20Mi")
	e.kubectl("label", "pod", "web-1", "apps.kruise.io/specified-delete=true")
	e.replacedPods(before, "web-1")
	e.settledSet(1, names...)
	e.sizes(1, "10Mi 10Mi 20Mi")
	before["web-1"] = e.uids()["web-1"]
	e.apply(text(grow, "v1", "20Mi", "0"))
	assert.Equal(t, first, e.settledSet(3, names...).Status.UpdateRevision)
	e.sizes(3, "20Mi 20Mi 20Mi")
	e.eventually("the rollback concerns one Pod", func(c *require.Assertions, _ context.Context) {
		counts := map[string]int32{}
		for _, pod := range e.pods("web") {
			counts[pod.Name] = statusOf(&pod, "main").RestartCount
		}
		c.Equal(map[string]int32{"web-0": 0, "web-1": 0, "web-2": 2}, counts)
	})

	e.apply(text(grow, "v1", "10Mi", "0"))
	e.sizes(3, "20Mi 20Mi 20Mi")
	e.apply(text(stay, "v2", "30Mi", "0"))
	e.settledSet(3, names...)
	e.sizes(0, "20Mi 20Mi 20Mi")
	assert.Equal(t, before, e.uids(), "all updates are in place")
	assert.Equal(t, lines, e.firstLines(names...))
	e.apply(text(stay, "v2", "30Mi", "0", "replicas: 3", "replicas: 4"))
	e.settledSet(4, append(names, "web-3")...)
	e.sizes(1, "20Mi 20Mi 20Mi 30Mi")
}
