package imagelistpulljob

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

var now = controllertest.Now

type world struct {
	*controllertest.Fixture
	t *testing.T
	r *Reconciler
}

func newWorld(t *testing.T, edits ...func(*v1beta1.ImageListPullJob)) *world {
	t.Helper()
	list := &v1beta1.ImageListPullJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps.kruise.io/v1beta1", Kind: "ImageListPullJob"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "list", UID: "list"},
		Spec: v1beta1.ImageListPullJobSpec{Images: []string{"a", "b", "c"}, ImagePullJobTemplate: v1beta1.ImagePullJobTemplate{
			CompletionPolicy: v1beta1.CompletionPolicy{Type: v1beta1.CompletionPolicyAlways},
		}},
	}
	for _, edit := range edits {
		edit(list)
	}
	f := controllertest.New(t, "", list)
	names := 0
	f.Kruise.PrependReactor("create", "imagepulljobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
		job := action.(clienttesting.CreateAction).GetObject().(*v1beta1.ImagePullJob)
		names++
		job.Name, job.UID = fmt.Sprintf("%s%d", job.GenerateName, names), types.UID(fmt.Sprintf("child-%d", names))
		return false, nil, nil
	})
	r, skeleton := build(f.Deps)
	f.Control(skeleton)
	return &world{Fixture: f, t: t, r: r}
}

// settle reconciles until nothing more is written, and returns the writes.
func (w *world) settle() []string { return w.Converge("ns", "list") }

func (w *world) list() *v1beta1.ImageListPullJob {
	w.t.Helper()
	list, err := w.Kruise.AppsV1beta1().ImageListPullJobs("ns").Get(w.t.Context(), "list", metav1.GetOptions{})
	require.NoError(w.t, err)
	return list
}

func (w *world) edit(edit func(*v1beta1.ImageListPullJob)) {
	w.t.Helper()
	list := w.list()
	edit(list)
	w.Update(list)
	w.Writes()
}

// children returns the jobs by image.
func (w *world) children() map[string]*v1beta1.ImagePullJob {
	w.t.Helper()
	jobs, err := w.Kruise.AppsV1beta1().ImagePullJobs("ns").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	children := map[string]*v1beta1.ImagePullJob{}
	for i := range jobs.Items {
		require.NotContains(w.t, children, jobs.Items[i].Spec.Image)
		children[jobs.Items[i].Spec.Image] = &jobs.Items[i]
	}
	return children
}

// report sets the status of an image's job.
func (w *world) report(image string, desired, active, succeeded, failed int32) {
	w.t.Helper()
	child := w.children()[image]
	child.Status = v1beta1.ImagePullJobStatus{
		StartTime: new(metav1.NewTime(now)), Desired: desired, Active: active, Succeeded: succeeded, Failed: failed,
	}
	w.Update(child)
}

// Case image-predownload 41.
func TestOneJobForEachImage(t *testing.T) {
	w := newWorld(t, func(list *v1beta1.ImageListPullJob) {
		list.Spec.CompletionPolicy.TTLSecondsAfterFinished = ptr.To[int32](5)
	})
	w.settle()
	assert.Equal(t, []string{
		"Normal Successful create ImagePullJob Create 3 ImagePullJob",
	}, w.Events())
	first := w.children()
	require.Len(t, first, 3)
	hash := w.list().Labels[pub.ControllerRevisionHashKey]
	require.NotEmpty(t, hash)
	for image, child := range first {
		assert.Equal(t, hash, child.Labels[pub.ControllerRevisionHashKey])
		assert.Equal(t, "list-", child.GenerateName)
		owner := metav1.GetControllerOf(child)
		assert.Equal(t, []string{"ImageListPullJob", "list"}, []string{owner.Kind, owner.Name})
		assert.Equal(t, image, child.Spec.Image)
		assert.Nil(t, child.Spec.CompletionPolicy.TTLSecondsAfterFinished, "it goes with the list job")
	}

	w.edit(func(list *v1beta1.ImageListPullJob) { list.Spec.Images = []string{"a", "c"} })
	assert.Equal(t, []string{"delete imagepulljobs " + first["b"].Name}, writesTo(w.settle(), "imagepulljobs"))
	assert.Equal(t, []string{"Normal Successful delete ImagePullJob Delete 1 ImagePullJob"}, w.Events())

	w.edit(func(list *v1beta1.ImageListPullJob) { list.Spec.Parallelism = new(intstr.FromInt32(7)) })
	writes := writesTo(w.settle(), "imagepulljobs")
	assert.ElementsMatch(t, []string{
		"create imagepulljobs", "create imagepulljobs", "delete imagepulljobs " + first["a"].Name, "delete imagepulljobs " + first["c"].Name,
	}, writes, "each is replaced once")
	assert.NotEqual(t, hash, w.list().Labels[pub.ControllerRevisionHashKey])
	for _, child := range w.children() {
		assert.Equal(t, 7, child.Spec.Parallelism.IntValue())
	}
	assert.Empty(t, w.settle())
}

// Case image-predownload 41a.
// The API refuses an ImagePullJob whose timeout is longer than its deadline.
func TestTimeoutOfAJobIsAtMostTheDeadline(t *testing.T) {
	policy := func(timeout, backoffLimit int32) *v1beta1.PullPolicy {
		return &v1beta1.PullPolicy{TimeoutSeconds: &timeout, BackoffLimit: &backoffLimit}
	}
	tests := map[string]struct {
		policy   *v1beta1.PullPolicy
		deadline *int64
		want     *v1beta1.PullPolicy
	}{
		"longer":         {policy(600, 1), new(int64(60)), policy(60, 1)},
		"not set":        {nil, new(int64(60)), policy(60, 3)},
		"shorter":        {policy(30, 1), new(int64(60)), policy(30, 1)},
		"a far deadline": {nil, new(int64(1 << 40)), policy(600, 3)},
		"no deadline":    {policy(900, 1), nil, policy(900, 1)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(list *v1beta1.ImageListPullJob) {
				list.Spec.PullPolicy, list.Spec.CompletionPolicy.ActiveDeadlineSeconds = test.policy, test.deadline
			})
			w.settle()
			assert.Len(t, w.children(), 3)
			for _, child := range w.children() {
				assert.Equal(t, test.want, child.Spec.PullPolicy)
				assert.Equal(t, test.deadline, child.Spec.CompletionPolicy.ActiveDeadlineSeconds)
			}
			assert.Equal(t, test.policy, w.list().Spec.PullPolicy)
			assert.Empty(t, w.settle())
		})
	}
}

func writesTo(writes []string, resource string) []string {
	return slices.DeleteFunc(writes, func(text string) bool {
		var verb, written string
		_, _ = fmt.Sscan(text, &verb, &written)
		return written != resource
	})
}

// Case image-predownload 47.
func TestCountsOfChildren(t *testing.T) {
	w := newWorld(t, func(list *v1beta1.ImageListPullJob) { list.Spec.Images = []string{"d", "c", "b", "a"} })
	w.settle()
	assert.Equal(t, v1beta1.ImageListPullJobStatus{StartTime: w.list().Status.StartTime, Desired: 4}, w.list().Status,
		"jobs that were not reconciled have no status")
	w.report("a", 2, 1, 0, 1)
	w.report("b", 2, 0, 2, 0)
	w.report("c", 2, 0, 1, 1)
	w.settle()
	status := w.list().Status
	assert.Equal(t, []int32{4, 1, 2, 1}, []int32{status.Desired, status.Active, status.Completed, status.Succeeded})
	children := w.children()
	assert.Equal(t, []v1beta1.FailedImageStatus{
		{ImagePullJob: children["a"].Name, Name: "a", Message: "Please check for details which nodes failed by 'kubectl get ImagePullJob " + children["a"].Name + "'."},
		{ImagePullJob: children["c"].Name, Name: "c", Message: "Please check for details which nodes failed by 'kubectl get ImagePullJob " + children["c"].Name + "'."},
	}, status.FailedImageStatuses, "by image")
	assert.Nil(t, status.CompletionTime)
	w.report("a", 2, 0, 1, 1)
	w.report("d", 2, 0, 2, 0)
	w.settle()
	assert.NotNil(t, w.list().Status.CompletionTime)
	w.edit(func(list *v1beta1.ImageListPullJob) { list.Spec.Images = []string{"e"} })
	assert.Empty(t, w.settle(), "what is edited later changes nothing")
}

func TestEndlessListNeverEnds(t *testing.T) {
	w := newWorld(t, func(list *v1beta1.ImageListPullJob) {
		list.Spec.Images, list.Spec.CompletionPolicy.Type = []string{"a"}, v1beta1.CompletionPolicyNever
	})
	w.settle()
	w.report("a", 2, 0, 2, 0)
	w.settle()
	assert.EqualValues(t, 1, w.list().Status.Succeeded)
	assert.Nil(t, w.list().Status.CompletionTime)
}

// Case image-predownload 48.
func TestListIsDeletedAfterItsTTL(t *testing.T) {
	w := newWorld(t, func(list *v1beta1.ImageListPullJob) {
		list.Spec.CompletionPolicy.TTLSecondsAfterFinished = ptr.To[int32](5)
		list.Status.CompletionTime = new(metav1.NewTime(now))
	})
	w.Observe()
	result, err := w.Pass("ns", "list")
	require.NoError(t, err)
	assert.Equal(t, 5*time.Second, result.RequeueAfter)
	w.Clock.SetTime(now.Add(5 * time.Second))
	_, err = w.Pass("ns", "list")
	require.NoError(t, err)
	assert.Equal(t, []string{"delete imagelistpulljobs list"}, w.Writes())
}

// TestOneOfTwoJobsForAnImageStays checks that the older of two jobs for an image stays.
func TestOneOfTwoJobsForAnImageStays(t *testing.T) {
	w := newWorld(t, func(list *v1beta1.ImageListPullJob) { list.Spec.Images = []string{"a"} })
	w.settle()
	second := w.children()["a"].DeepCopy()
	second.Name, second.UID = "list-z", "z"
	second.CreationTimestamp = metav1.NewTime(now.Add(time.Second))
	w.Add(second)
	assert.Equal(t, []string{"delete imagepulljobs list-z"}, w.settle())
}

// TestRefusedTemplateIsReportedOnce checks that an invalid template is rejected once, and not once per image, and that the user
// gets the reason.
func TestRefusedTemplateIsReportedOnce(t *testing.T) {
	w := newWorld(t, func(list *v1beta1.ImageListPullJob) {
		list.Spec.Images = nil
		for i := range 100 {
			list.Spec.Images = append(list.Spec.Images, fmt.Sprintf("image-%d", i))
		}
	})
	tries := 0
	w.Kruise.PrependReactor("create", "imagepulljobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		tries++
		return true, nil, apierrors.NewInvalid(v1beta1.SchemeGroupVersion.WithKind("ImagePullJob").GroupKind(), "x", nil)
	})
	w.Step("ns", "list") // Adds the label.
	w.Observe()
	_, err := w.Pass("ns", "list")
	require.ErrorContains(t, err, "create ImagePullJob for image image-")
	assert.Equal(t, 1, tries)
	events := w.Events()
	require.Len(t, events, 1)
	assert.Contains(t, events[0], "Warning Failed create ImagePullJob")
	assert.EqualValues(t, 100, w.list().Status.Desired, "it reports all the same")
}

// TestStaleCacheCreatesNothingTwice checks that the list job waits until the cache shows what it created.
// Case image-predownload 48.
func TestStaleCacheCreatesNothingTwice(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.r.guard.Wrote("list", jobs, "7")
	require.NoError(t, w.r.children.Replace(nil, "6"))
	result, err := w.Pass("ns", "list")
	require.NoError(t, err)
	assert.Equal(t, 5*time.Second, result.RequeueAfter)
	assert.Empty(t, w.Writes())
}
