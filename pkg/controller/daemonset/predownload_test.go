package daemonset

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

func (w *world) jobs() []v1beta1.ImagePullJob {
	w.t.Helper()
	list, err := w.Kruise.AppsV1beta1().ImagePullJobs("ns").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	return list.Items
}

// Case daemonset 30: with the gate, new images are pulled ahead, also by an update that recreates Pods.
func TestImagesArePulledAheadOfAnUpdate(t *testing.T) {
	set := newSet()
	set.Annotations = map[string]string{pub.ImagePreDownloadParallelismKey: "2"}
	w := rolled(t, "PreDownloadImageForDaemonSetUpdate=true", set, nodes(3))
	require.Empty(t, w.jobs())
	w.node.Broken = broken("app:2")
	w.edit(image("app:2"))
	w.settle()
	jobs := w.jobs()
	require.Len(t, jobs, 1)
	hash := w.set().Status.UpdateRevision
	assert.Equal(t, "web-"+hash+"-main", jobs[0].Name)
	assert.Equal(t, "app:2", jobs[0].Spec.Image)
	assert.Equal(t, 2, jobs[0].Spec.Parallelism.IntValue())
	assert.Equal(t, hash, jobs[0].Labels["controller-revision-hash"])
	selector := jobs[0].Spec.PodSelector
	assert.Equal(t, map[string]string{"app": "web"}, selector.MatchLabels)
	assert.Equal(t, []string{"web-" + hash, hash}, selector.MatchExpressions[0].Values)
	w.node.Broken = nil
	w.kubelet()
	w.settle()
	assert.EqualValues(t, 3, w.set().Status.UpdatedNumberScheduled)
	assert.Empty(t, w.jobs(), "the rollout is complete")
}

func TestImagesAreNotPulledForOneBatch(t *testing.T) {
	for name, edit := range map[string]edit{"all at once": maxUnavailable("100%"), "on deletion": deleteOnly} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "PreDownloadImageForDaemonSetUpdate=true", newSet(edit), nodes(3))
			w.node.Broken = broken("app:2")
			w.edit(image("app:2"))
			w.settle()
			assert.Equal(t, name == "on deletion", len(w.jobs()) == 1)
		})
	}
}
