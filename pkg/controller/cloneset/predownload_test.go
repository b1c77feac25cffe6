package cloneset

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

const preDownload = "PreDownloadImageForInPlaceUpdate=true"

// jobs returns the ImagePullJobs, sorted by name.
func (w *world) jobs() (jobs []v1beta1.ImagePullJob) {
	w.t.Helper()
	list, err := w.Kruise.AppsV1beta1().ImagePullJobs("ns").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	return list.Items
}

// newest returns the update revision.
func (w *world) newest() *appsv1.ControllerRevision {
	w.t.Helper()
	revision, err := w.Kube.AppsV1().ControllerRevisions("ns").Get(w.t.Context(), w.set().Status.UpdateRevision, metav1.GetOptions{})
	require.NoError(w.t, err)
	w.Kube.ClearActions()
	return revision
}

// Case cloneset 28.
// Case image-predownload 39.
func TestImagesArePulledAheadOfAnUpdate(t *testing.T) {
	w := rolled(t, preDownload, newSet(5, inPlaceIfPossible, knobs("3", "1", "")))
	assert.Empty(t, w.jobs())
	w.edit(image("app:2"))
	w.settle()
	jobs := w.jobs()
	require.Len(t, jobs, 1)
	assert.Equal(t, w.newest().Name+"-main", jobs[0].Name)
	assert.Equal(t, "app:2", jobs[0].Spec.Image)
	assert.Equal(t, "web", metav1.GetControllerOf(&jobs[0]).Name)
	assert.Equal(t, "true", w.newest().Labels[pub.ImagePreDownloadCreatedKey])
	assert.Contains(t, w.Events(), "Normal CreatedImagePullJob created ImagePullJob "+jobs[0].Name+" for image: app:2")
	assert.Equal(t, map[string]int{"app:1": 3, "app:2": 2}, w.images())

	w.edit(knobs("0", "1", ""))
	w.settle()
	assert.Equal(t, map[string]int{"app:2": 5}, w.images())
	assert.Empty(t, w.jobs(), "the revision has reached all")
}

// Case cloneset 28.
// Case image-predownload 39.
func TestNoPreDownloadWhereItDoesNotHelp(t *testing.T) {
	onDelete := func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.Type = v1beta1.OnDeleteCloneSetStrategyType }
	tests := map[string]struct {
		gates    string
		replicas int32
		edits    []func(*v1beta1.CloneSetSpec)
		change   func(*v1beta1.CloneSetSpec)
		ignored  bool
	}{
		"three replicas":    {preDownload, 3, []func(*v1beta1.CloneSetSpec){inPlaceIfPossible, knobs("2", "1", "")}, image("app:2"), true},
		"recreated":         {preDownload, 5, []func(*v1beta1.CloneSetSpec){knobs("3", "1", "")}, image("app:2"), true},
		"all at once":       {preDownload, 5, []func(*v1beta1.CloneSetSpec){inPlaceIfPossible, knobs("0", "100%", "")}, image("app:2"), true},
		"only when deleted": {preDownload, 5, []func(*v1beta1.CloneSetSpec){inPlaceIfPossible, onDelete}, image("app:2"), true},
		"not in place":      {preDownload, 5, []func(*v1beta1.CloneSetSpec){inPlaceIfPossible, knobs("3", "1", "")}, func(s *v1beta1.CloneSetSpec) { s.Template.Spec.Containers[0].Command = []string{"x"} }, true},
		"other claims": {
			preDownload + ",RecreatePodWhenChangeVCTInCloneSetGate=true", 5,
			[]func(*v1beta1.CloneSetSpec){inPlaceIfPossible, knobs("3", "1", ""), dataClaims("1")},
			func(s *v1beta1.CloneSetSpec) { image("app:2")(s); dataClaims("2")(s) }, true,
		},
		"without the gate": {"", 5, []func(*v1beta1.CloneSetSpec){inPlaceIfPossible, knobs("3", "1", "")}, image("app:2"), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, tc.gates, newSet(tc.replicas, tc.edits...))
			w.edit(tc.change)
			w.step()
			w.step()
			assert.Empty(t, w.jobs())
			assert.Equal(t, tc.ignored, w.newest().Labels[pub.ImagePreDownloadIgnoredKey] == "true")
			assert.NotContains(t, w.newest().Labels, pub.ImagePreDownloadCreatedKey)
		})
	}
}

// TestPullsWaitForTheFirstPods checks that jobs are created only after the configured number of Pods is updated and ready. The field has
// a number; a percentage stays in the annotation.
func TestPullsWaitForTheFirstPods(t *testing.T) {
	for name, test := range map[string]struct {
		least       *intstr.IntOrString
		annotations map[string]string
	}{
		"a number":     {new(intstr.FromInt32(2)), nil},
		"a percentage": {nil, map[string]string{pub.ImagePreDownloadMinUpdatedReadyPodsKey: "40%"}},
		"both":         {new(intstr.FromInt32(2)), map[string]string{pub.ImagePreDownloadMinUpdatedReadyPodsKey: "0%"}},
	} {
		t.Run(name, func(t *testing.T) {
			set := newSet(5, inPlaceIfPossible, knobs("4", "1", ""), func(s *v1beta1.CloneSetSpec) {
				s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{
					ImagePreDownloadMinUpdatedReadyPods: test.least, ImagePreDownloadParallelism: new(intstr.FromInt32(2)),
					ImagePreDownloadTimeoutSeconds: ptr.To[int32](60),
				}
			})
			set.Annotations = test.annotations
			w := rolled(t, preDownload, set)
			w.edit(image("app:2"))
			w.settle()
			assert.Empty(t, w.jobs(), "one of the two is there")
			w.edit(knobs("3", "1", ""))
			w.settle()
			jobs := w.jobs()
			require.Len(t, jobs, 1)
			assert.Equal(t, 2, jobs[0].Spec.Parallelism.IntValue())
			assert.EqualValues(t, 60, *jobs[0].Spec.PullPolicy.TimeoutSeconds)
		})
	}
}

// kubectl annotate writes through v1beta1, which does not set the fields.
func TestAnnotationsSetDownloadsWithoutTheirFields(t *testing.T) {
	set := newSet(5, inPlaceIfPossible, knobs("4", "1", ""))
	set.Annotations = map[string]string{
		pub.ImagePreDownloadParallelismKey: "2", pub.ImagePreDownloadTimeoutSecondsKey: "60", pub.ImagePreDownloadMinUpdatedReadyPodsKey: "2",
	}
	w := rolled(t, preDownload, set)
	w.edit(image("app:2"))
	w.settle()
	assert.Empty(t, w.jobs(), "one of the two is there")
	w.edit(knobs("3", "1", ""), func(s *v1beta1.CloneSetSpec) {
		s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{ImagePreDownloadTimeoutSeconds: new(int32(90))}
	})
	w.settle()
	jobs := w.jobs()
	require.Len(t, jobs, 1)
	assert.Equal(t, 2, jobs[0].Spec.Parallelism.IntValue())
	assert.EqualValues(t, 90, *jobs[0].Spec.PullPolicy.TimeoutSeconds, "the field comes first")
}

// TestJobsAreMadeOnce checks that jobs are not created again after a user deletes them, and that existing jobs are accepted.
func TestJobsAreMadeOnce(t *testing.T) {
	w := rolled(t, preDownload, newSet(5, inPlaceIfPossible, knobs("3", "1", "")))
	w.Kruise.PrependReactor("create", "imagepulljobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewAlreadyExists(v1beta1.SchemeGroupVersion.WithResource("imagepulljobs").GroupResource(), "x")
	})
	w.edit(image("app:2"))
	writes := w.settle()
	assert.Equal(t, 1, count(writes, "create imagepulljobs"))
	assert.Equal(t, "true", w.newest().Labels[pub.ImagePreDownloadCreatedKey])
}

// TestRefusedJobDoesNotBlockTheUpdate checks that a rejected job is retried while the update continues.
func TestRefusedJobDoesNotBlockTheUpdate(t *testing.T) {
	w := rolled(t, preDownload, newSet(5, inPlaceIfPossible, knobs("3", "1", "")))
	refuse := true
	w.Kruise.PrependReactor("create", "imagepulljobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return refuse, nil, apierrors.NewForbidden(v1beta1.SchemeGroupVersion.WithResource("imagepulljobs").GroupResource(), "x", assert.AnError)
	})
	w.edit(image("app:2"))
	w.Observe()
	result, err := w.reconcile("web")
	require.NoError(t, err, "errors are only logged")
	assert.Equal(t, 30*time.Second, result.RequeueAfter)
	assert.True(t, slices.ContainsFunc(w.Events(), func(event string) bool {
		return strings.HasPrefix(event, "Normal FailedCreateImagePullJob ")
	}))
	assert.NotContains(t, w.newest().Labels, pub.ImagePreDownloadCreatedKey)
	refuse = false
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 3, "app:2": 2}, w.images())
	assert.Len(t, w.jobs(), 1)
}

func count(texts []string, text string) (n int) {
	for _, t := range texts {
		if t == text {
			n++
		}
	}
	return n
}
