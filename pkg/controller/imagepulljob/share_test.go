package imagepulljob

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/imagetag"
)

// ask adds jobs of a namespace to a NodeImage, each with another image, until one is refused. It returns how many were added.
func ask(t *testing.T, image *v1beta1.NodeImage, namespace string, jobs int, name func(i int) string, bytes int) (added int, err error) {
	t.Helper()
	copies := newWorld(t).r.copies
	for i := range jobs {
		job := newJob(fmt.Sprint(namespace, i))
		job.Namespace, job.UID = namespace, types.UID(fmt.Sprint(namespace, i))
		if bytes > 0 {
			job.Spec.SandboxConfig = &v1beta1.SandboxConfig{Annotations: map[string]string{"a": strings.Repeat("x", bytes)}}
		}
		of, err := imagetag.Parse(name(i))
		require.NoError(t, err)
		q := &request{
			job: job, ref: of, now: now, random: func(int32) int32 { return 0 }, last: func(string) int64 { return -1 }, copies: copies,
		}
		after := image.DeepCopy()
		if _, err = q.assignShare(after); err != nil {
			return added, err
		}
		added++
		after.DeepCopyInto(image)
	}
	return added, nil
}

func TestNamespaceNeverFillsANodeImage(t *testing.T) {
	ownImage := func(i int) string { return fmt.Sprintf("example.com/app-%d:1", i) }
	ownTag := func(i int) string { return fmt.Sprintf("example.com/app:%d", i) }
	tests := map[string]struct {
		name  func(i int) string
		bytes int
		most  int
		why   string
	}{
		"many images":           {ownImage, 0, 192, "193 of 193 images in it are of namespace greedy"},
		"many tags":             {ownTag, 0, 384, "namespace greedy"},
		"few large jobs":        {ownImage, 16000, 4, "mostly in the sandboxConfig of jobs"},
		"large, for one image":  {ownTag, 16000, 384, "namespace greedy"},
		"as many as others use": {ownImage, 1000, 64, "namespace greedy has"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			image := &v1beta1.NodeImage{}
			added, err := ask(t, image, "greedy", 600, tc.name, tc.bytes)
			if tc.why != "" {
				require.ErrorIs(t, err, errCrowded)
				require.ErrorContains(t, err, tc.why)
			}
			assert.LessOrEqual(t, added, tc.most)
			assert.GreaterOrEqual(t, added, 3)
			assert.Less(t, image.Size(), 2*namespaceBytes)
			added, err = ask(t, image, "victim", 20, func(i int) string { return fmt.Sprintf("victim.com/app-%d:1", i) }, 100)
			require.NoError(t, err)
			assert.Equal(t, 20, added)
		})
	}
}

func TestManyNamespacesLeaveRoomForAnother(t *testing.T) {
	image := &v1beta1.NodeImage{}
	for n := range 20 {
		namespace := fmt.Sprint("greedy-", n)
		_, _ = ask(t, image, namespace, 60, func(i int) string { return fmt.Sprintf("%s.com/app-%d:1", namespace, i) }, 16000)
	}
	assert.Less(t, image.Size(), mostBytes+namespaceBytes)
	added, err := ask(t, image, "victim", 2, func(i int) string { return fmt.Sprintf("victim.com/app-%d:1", i) }, 100)
	require.NoError(t, err)
	assert.Equal(t, 2, added)
}

// Another namespace can write large settings into the entry of an image that both use.
func TestSettingsOfAnotherNamespaceDoNotCount(t *testing.T) {
	image := &v1beta1.NodeImage{}
	shared := func(i int) string { return fmt.Sprintf("example.com/app-%d:1", i) }
	_, err := ask(t, image, "victim", 4, shared, 0)
	require.NoError(t, err)
	for i := range image.Spec.Images {
		entry := image.Spec.Images[i]
		for j := range entry.Tags {
			entry.Tags[j].CreatedAt.Time = entry.Tags[j].CreatedAt.Add(-1e9)
		}
	}
	added, _ := ask(t, image, "greedy", 4, shared, 16000)
	assert.GreaterOrEqual(t, added, 3)
	_, err = ask(t, image, "victim", 20, func(i int) string { return fmt.Sprintf("victim.com/app-%d:1", i) }, 0)
	require.NoError(t, err)
}

// A node on which the namespace has too much counts as failed, and the owner of the job is told why.
func TestJobIsRefusedWhereItsNamespaceHasTooMuch(t *testing.T) {
	w := newWorld(t, append(nodeImages(2), newJob("a"))...)
	full := w.image("n1")
	_, err := ask(t, full, "ns", 300, func(i int) string { return fmt.Sprintf("example.com/app-%d:1", i) }, 0)
	require.ErrorIs(t, err, errCrowded)
	w.Update(full)
	w.step("a")
	assert.Equal(t, []string{"n2"}, w.unfinished())
	assert.Equal(t, []string{"n1"}, w.job("a").Status.FailedNodes)
	events := w.Events()
	require.Len(t, events, 1)
	assert.Contains(t, events[0], "NodeImage n1 was rejected")
	assert.Contains(t, events[0], "the image pulls of the namespace have used up their part")
}
