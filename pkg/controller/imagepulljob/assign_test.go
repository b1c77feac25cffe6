package imagepulljob

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// TestTagLimitsFollowTheJob checks the limits of a tag.
func TestTagLimitsFollowTheJob(t *testing.T) {
	tests := map[string]struct {
		edit             func(*v1beta1.ImagePullJob)
		timeout, backoff int32
		deadline         *int64
		ttl              int32
	}{
		"by the pull's limits": {func(*v1beta1.ImagePullJob) {}, 600, 3, nil, 1800 + 300 + 7},
		"by the deadline": {func(job *v1beta1.ImagePullJob) {
			job.Spec.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](1200)
		}, 600, 3, ptr.To[int64](1200), 1200 + 300 + 7},
		"by the job's own time": {func(job *v1beta1.ImagePullJob) {
			job.Spec.CompletionPolicy.ActiveDeadlineSeconds, job.Spec.CompletionPolicy.TTLSecondsAfterFinished = ptr.To[int64](1200), ptr.To[int32](5)
		}, 600, 3, ptr.To[int64](1200), 5 + 300 + 7},
		"endless":           {never, 600, 3, ptr.To[int64](1800), 86400 - 600 + 7},
		"endless, and slow": {func(job *v1beta1.ImagePullJob) { never(job); job.Spec.PullPolicy.TimeoutSeconds = ptr.To[int32](3600) }, 3600, 3, ptr.To[int64](3600), 86400 - 600 + 7},
		"without limits":    {func(job *v1beta1.ImagePullJob) { job.Spec.PullPolicy = nil }, 600, 3, nil, 1800 + 300 + 7},
		"longer than can be said": {func(job *v1beta1.ImagePullJob) {
			job.Spec.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](1 << 40)
		}, 600, 3, ptr.To[int64](1 << 40), 1<<31 - 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			q := &request{job: newJob("a", tc.edit), tagTTL: 300 * time.Second, now: now, random: func(n int32) int32 { return min(7, n) }}
			assert.Equal(t, &v1beta1.ImageTagPullPolicy{
				TimeoutSeconds: &tc.timeout, BackoffLimit: &tc.backoff, ActiveDeadlineSeconds: tc.deadline, TTLSecondsAfterFinished: &tc.ttl,
			}, q.pullPolicy())
		})
	}
}

// TestAssignKeepsTheTagsOfOthers checks that the tags of others are kept and sorted, and that none is pulled again.
func TestAssignKeepsTheTagsOfOthers(t *testing.T) {
	image := &v1beta1.NodeImage{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Spec: v1beta1.NodeImageSpec{Images: map[string]v1beta1.ImageSpec{
			"nginx": {
				SandboxConfig: &v1beta1.SandboxConfig{Labels: map[string]string{"of": "another"}},
				PullSecrets:   []v1beta1.ReferenceObject{{Namespace: "c", Name: "s"}},
				Tags:          []v1beta1.ImageTagSpec{{Tag: "1.8", Version: 4}, {Tag: "2.0", Version: 5}},
			},
			"redis": {Tags: []v1beta1.ImageTagSpec{{Tag: "6"}}},
		}},
		Status: v1beta1.NodeImageStatus{ImageStatuses: map[string]v1beta1.ImageStatus{"nginx": {Tags: []v1beta1.ImageTagStatus{{Tag: "1.9.1", Version: 8}}}}},
	}
	q := &request{
		copies: newWorld(t).r.copies,
		job:    newJob("a"), ref: ref, now: now, random: func(int32) int32 { return 0 }, last: func(string) int64 { return -1 },
		secrets: []v1beta1.ReferenceObject{{Namespace: "c", Name: "s", Mode: "batch"}, {Namespace: "c", Name: "t", Mode: "batch"}},
	}
	require.True(t, q.assign(image))
	entry := image.Spec.Images["nginx"]
	var tags []string
	for _, tag := range entry.Tags {
		tags = append(tags, tag.Tag)
	}
	assert.Equal(t, []string{"1.8", "1.9.1", "2.0"}, tags)
	assert.Equal(t, []int64{4, 9, 5}, []int64{entry.Tags[0].Version, entry.Tags[1].Version, entry.Tags[2].Version}, "one more than the node reported")
	assert.Nil(t, entry.SandboxConfig, "that of the last writer, even if that is nil")
	assert.Equal(t, []v1beta1.ReferenceObject{{Namespace: "c", Name: "s"}, {Namespace: "c", Name: "t", Mode: "batch"}}, entry.PullSecrets)
	assert.Len(t, image.Spec.Images["redis"].Tags, 1)
	assert.False(t, q.assign(image), "it is asked once")
}

func TestInvalidParallelismPauses(t *testing.T) {
	for text, want := range map[string]int{"5": 5, "0": 0, "50%": 0, "many": 0} {
		job := newJob("a", limit(text))
		assert.Equal(t, want, parallelism(job.Spec.Parallelism), text)
	}
	assert.Equal(t, 1, parallelism(nil))
}

// A false report must not make the next version overflow, because the server refuses negative versions.
func TestLargestReportedVersionDoesNotOverflow(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a"))...)
	image := w.image("n1")
	image.Status.ImageStatuses = map[string]v1beta1.ImageStatus{"nginx": {Tags: []v1beta1.ImageTagStatus{{
		Tag: "1.9.1", Version: math.MaxInt64, Phase: v1beta1.ImagePhaseSucceeded, CompletionTime: new(metav1.NewTime(now)),
	}}}}
	w.Update(image)
	w.step("a")
	require.NotNil(t, w.tag("n1"))
	assert.Zero(t, w.tag("n1").Version)
	assert.Equal(t, []string{"n1"}, w.unfinished(), "the false report is no answer")
}
