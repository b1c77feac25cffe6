//go:build e2e

package e2e

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/hack/images"
	"kruise.io/kruise/hack/localcluster"
	"kruise.io/kruise/pkg/apis/pub"
)

func held(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == pub.InPlaceUpdateReadyConditionType {
			return condition.Status == corev1.ConditionFalse
		}
	}
	return false
}

// TestGracePeriod checks that a Pod goes out of service well before its container ends.
// Case inplace-update 7.
func TestGracePeriod(t *testing.T) {
	t.Parallel()
	const seconds = 10
	e := newEnv(t)
	grace := sprintf("    inPlaceUpdateStrategy: {gracePeriodSeconds: %d}\n  template:", seconds)
	e.apply(manifest("web", "replicas: 3", "replicas: 1", "  template:", grace))
	e.ready("web", 1)
	old := e.pods("web")[0]
	history := e.watchPods()
	e.apply(manifest("web", "replicas: 3", "replicas: 1", "  template:", grace, "demo:v1", "demo:v2"))
	set := e.ready("web", 1)
	pod := e.pods("web")[0]
	assert.Equal(t, old.UID, pod.UID)
	assert.Equal(t, "kruise.local/demo:v2", pod.Status.ContainerStatuses[0].Image)
	assert.NotContains(t, pod.Annotations, pub.InPlaceUpdateGraceKey)

	var waits, changes time.Time
	for _, seen := range history() {
		if _, waiting := seen.Annotations[pub.InPlaceUpdateGraceKey]; waiting {
			assert.True(t, held(&seen.Pod), "a Pod that waits is out of service")
			assert.Equal(t, "kruise.local/demo:v1", seen.Spec.Containers[0].Image)
			assert.Equal(t, set.Status.UpdateRevision, seen.Labels[pub.ControllerRevisionHashKey])
			if waits.IsZero() {
				waits = writtenAt(&seen.Pod)
			}
		}
		if seen.Spec.Containers[0].Image == "kruise.local/demo:v2" && changes.IsZero() {
			changes = writtenAt(&seen.Pod)
		}
	}
	require.False(t, waits.IsZero(), "the Pod waited")
	require.False(t, changes.IsZero())
	// The times have whole seconds, and the first write itself may take a second, so the period may be up to two seconds shorter.
	assert.GreaterOrEqual(t, changes.Sub(waits), (seconds-2)*time.Second)
}

// writtenAt returns when kube-apiserver wrote this version of a Pod. The time at which a watch shows it can be later.
func writtenAt(pod *corev1.Pod) (at time.Time) {
	for _, field := range pod.ManagedFields {
		if field.Time != nil && field.Time.After(at) {
			at = field.Time.Time
		}
	}
	return at
}

// TestRollbackOfABrokenImage rolls back an update whose first Pod cannot run. The other Pods were never touched.
func TestRollbackOfABrokenImage(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	old := byUID(e.pods("web"))
	e.apply(manifest("web", "demo:v1", "demo:missing"))
	e.eventually("one Pod waits for the image", func(c *require.Assertions, _ context.Context) {
		waiting := 0
		for _, pod := range e.pods("web") {
			if w := pod.Status.ContainerStatuses[0].State.Waiting; w != nil && (w.Reason == "ErrImagePull" || w.Reason == "ImagePullBackOff") {
				waiting++
			}
		}
		c.Equal(1, waiting)
	})
	e.apply(manifest("web"))
	set := e.ready("web", 3)
	assert.Equal(t, set.Status.UpdateRevision, set.Status.CurrentRevision)
	restarted := 0
	for uid, pod := range byUID(e.pods("web")) {
		require.Contains(t, old, uid, "the same Pods")
		if pod.Status.ContainerStatuses[0].ContainerID != old[uid].Status.ContainerStatuses[0].ContainerID {
			restarted++
		}
	}
	assert.LessOrEqual(t, restarted, 1)
}

// TestRollbackAtOnce rolls back several times, each time before the nodes have carried anything out.
func TestRollbackAtOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	all := []string{"maxUnavailable: 1", "maxUnavailable: 100%"}
	e.apply(manifest("web", all...))
	e.ready("web", 3)
	old := byUID(e.pods("web"))
	for _, version := range []string{"v2", "v1", "v2", "v1"} {
		e.apply(manifest("web", append(all, "demo:v1", "demo:"+version)...))
	}
	e.ready("web", 3)
	for uid, pod := range byUID(e.pods("web")) {
		require.Contains(t, old, uid, "the same Pods")
		assert.False(t, held(&pod))
		// A node that reports no generation may still restart the container for an image in between.
		if pod.Status.ObservedGeneration > 0 {
			assert.Equal(t, "kruise.local/demo:v1", pod.Status.ContainerStatuses[0].Image)
		}
	}
	e.eventually("the Pods run v1", func(c *require.Assertions, _ context.Context) {
		for _, pod := range e.pods("web") {
			c.Equal("kruise.local/demo:v1", pod.Status.ContainerStatuses[0].Image)
		}
	})
}

// TestSameDigestUnderANewTag updates to an image that differs only in its name.
// Case inplace-update 13.
func TestSameDigestUnderANewTag(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	cluster, err := localcluster.New(localcluster.MainConfig(root))
	require.NoError(t, err)
	network, err := cluster.Network()
	require.NoError(t, err)
	builder := images.Builder{ModuleRoot: root, Dir: filepath.Join(root, ".local", "images")}
	// The test uses its own image. A kubelet that pulls an image once also asks the registry for every other name of that image.
	demo := images.Fixtures()[0]
	demo.Tag, demo.Variables = "retag", map[string]string{"main.version": "retag"}
	_, err = builder.Build(t.Context(), demo)
	require.NoError(t, err)
	repository := network.RegistryHost() + "/" + e.namespace + "/demo"
	var digests []string
	for _, tag := range []string{"a", "b"} {
		image, err := images.Push(t.Context(), demo, filepath.Join(builder.Dir, "bin", demo.Name+"-"+demo.Tag), repository+":"+tag)
		require.NoError(t, err)
		digests = append(digests, image.Digest)
	}
	require.Equal(t, digests[0], digests[1])

	e.apply(manifest("web", "kruise.local/demo:v1", repository+":a"))
	e.ready("web", 3)
	old := byUID(e.pods("web"))
	e.apply(manifest("web", "kruise.local/demo:v1", repository+":b"))
	e.ready("web", 3)
	for uid, pod := range byUID(e.pods("web")) {
		require.Contains(t, old, uid, "the same Pods")
		was, is := old[uid].Status.ContainerStatuses[0], pod.Status.ContainerStatuses[0]
		assert.Equal(t, repository+":b", pod.Spec.Containers[0].Image)
		assert.Equal(t, was.ImageID, is.ImageID)
		assert.NotEqual(t, was.ContainerID, is.ContainerID)
		assert.Equal(t, was.RestartCount+1, is.RestartCount)
	}
}

// TestVolumeClaims checks that the claim of a lost or updated Pod is kept, and that the claim of a Pod that is no longer wanted
// is deleted.
func TestVolumeClaims(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	claims := []string{
		"  template:\n", "  volumeClaimTemplates:\n  - metadata: {name: data}\n    spec:\n      accessModes: [ReadWriteOnce]\n" +
			"      resources: {requests: {storage: 1Mi}}\n  template:\n",
		"        ports:", "        volumeMounts: [{name: data, mountPath: /data}]\n        ports:",
	}
	e.apply(manifest("web", claims...))
	e.ready("web", 3)
	claimOf := func(pod *corev1.Pod) string {
		for _, volume := range pod.Spec.Volumes {
			if volume.Name == "data" {
				return volume.PersistentVolumeClaim.ClaimName
			}
		}
		return ""
	}
	byClaim := func() map[string]corev1.Pod {
		index := map[string]corev1.Pod{}
		for _, pod := range e.pods("web") {
			index[claimOf(&pod)] = pod
		}
		return index
	}
	before := byClaim()
	require.Len(t, before, 3)

	e.apply(manifest("web", append(claims, "demo:v1", "demo:v2")...))
	e.ready("web", 3)
	for claim, pod := range byClaim() {
		assert.Equal(t, before[claim].UID, pod.UID, "updated in place")
	}
	lost := e.pods("web")[0]
	e.kubectl("delete", "pod", lost.Name, "--wait")
	e.eventually("the claim is mounted again", func(c *require.Assertions, _ context.Context) {
		pods := byClaim()
		c.Len(pods, 3)
		c.NotEmpty(pods[claimOf(&lost)].UID)
		c.NotEqual(lost.UID, pods[claimOf(&lost)].UID)
	})
	e.ready("web", 3)

	e.kubectl("scale", "cloneset", "web", "--replicas=1")
	e.ready("web", 1)
	e.eventually("the claims of the others go", func(c *require.Assertions, ctx context.Context) {
		list, err := e.core.CoreV1().PersistentVolumeClaims(e.namespace).List(ctx, metav1.ListOptions{})
		c.NoError(err)
		c.Len(list.Items, 1)
		pods := e.pods("web")
		c.Len(pods, 1)
		c.Equal(claimOf(&pods[0]), list.Items[0].Name)
	})
}

// TestMetadataAlone updates labels and annotations that no container reads, while the Pods serve.
// Cases inplace-update 3, 4.
func TestMetadataAlone(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	labelled := []string{"        app: NAME\n    spec:", "        app: web\n        tier: front\n    spec:"}
	e.apply(manifest("web", labelled...))
	e.ready("web", 3)
	before := restarts(e.pods("web"))
	history := e.watchPods()
	e.apply(manifest("web", "        app: NAME\n    spec:", "        app: web\n        zone: a\n      annotations: {note: x}\n    spec:"))
	e.ready("web", 3)
	for _, pod := range e.pods("web") {
		assert.Equal(t, "a", pod.Labels["zone"])
		assert.Equal(t, "x", pod.Annotations["note"])
		assert.NotContains(t, pod.Labels, "tier", "a label that the template drops goes")
	}
	assert.Equal(t, before, restarts(e.pods("web")))
	for _, seen := range history() {
		assert.False(t, held(&seen.Pod), "it serves all the time")
	}
}

// TestNamedPodIsDeleted checks that the Pod in podsToDelete goes in a scale-in, and that its name is removed from the list. A policy of
// the chart limits what else the controller may change.
func TestNamedPodIsDeleted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	name := e.pods("web")[1].Name
	e.kubectl("patch", "cloneset", "web", "--type=merge", "--patch",
		`{"spec":{"replicas":2,"scaleStrategy":{"podsToDelete":["`+name+`"]}}}`)
	e.eventually("the list is empty", func(c *require.Assertions, _ context.Context) {
		c.Empty(e.cloneSet("web").Spec.ScaleStrategy.PodsToDelete)
	})
	e.ready("web", 2)
	for _, pod := range e.pods("web") {
		assert.NotEqual(t, name, pod.Name)
	}
}
