package nodeimage

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

var now = controllertest.Now

// world is a fixture with a reconciler.
type world struct {
	*controllertest.Fixture
	t *testing.T
	r *Reconciler
}

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	f := controllertest.New(t, "", objects...)
	r, skeleton := build(f.Deps, Options{CreationDelay: 30 * time.Second})
	f.Control(skeleton)
	return &world{Fixture: f, t: t, r: r}
}

func (w *world) step() time.Duration { return w.Step("", "n1") }

// settle reconciles until nothing more is written, and returns the writes.
func (w *world) settle() []string { return w.Converge("", "n1") }

// image returns the NodeImage, or nil.
func (w *world) image() *v1beta1.NodeImage {
	w.t.Helper()
	list, err := w.Kruise.AppsV1beta1().NodeImages().List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

func node(readySince time.Duration, labels map[string]string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: labels},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-readySince)),
		}}},
	}
}

func notReady(n *corev1.Node) *corev1.Node {
	n.Status.Conditions[0].Status = corev1.ConditionFalse
	return n
}

// Cases image-predownload 1, 2, 3.
func TestNodeImagesComeWithTheirNodes(t *testing.T) {
	tests := map[string]struct {
		node    *corev1.Node
		want    bool
		recheck time.Duration
	}{
		"ready for 31 s":         {node(31*time.Second, map[string]string{"a": "b"}), true, 0},
		"ready for 5 s":          {node(5*time.Second, nil), false, 25 * time.Second},
		"not ready":              {notReady(node(time.Hour, nil)), false, 0},
		"virtual":                {node(time.Hour, map[string]string{"type": "virtual-kubelet"}), false, 0},
		"Linux":                  {node(time.Hour, map[string]string{"kubernetes.io/os": "linux"}), true, 0},
		"Windows, no agent":      {node(time.Hour, map[string]string{"kubernetes.io/os": "windows"}), false, 0},
		"without any conditions": {&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, false, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.node)
			assert.Equal(t, tc.recheck, w.step())
			image := w.image()
			require.Equal(t, tc.want, image != nil)
			if tc.want {
				assert.Equal(t, tc.node.Labels, image.Labels)
				assert.Empty(t, image.Spec)
			}
		})
	}
}

// Case image-predownload 4.
func TestNodeImagesGoWithTheirNodes(t *testing.T) {
	goes := node(time.Hour, nil)
	goes.DeletionTimestamp, goes.Finalizers = &metav1.Time{Time: now}, []string{"a/b"}
	tests := map[string]struct {
		node *corev1.Node
		fake bool
		kept bool
	}{
		"the node is gone":       {nil, false, false},
		"the node goes":          {goes, false, false},
		"it has become virtual":  {node(time.Hour, map[string]string{"type": "virtual-kubelet"}), false, false},
		"fake, without a node":   {nil, true, true},
		"fake, and node virtual": {node(time.Hour, map[string]string{"type": "virtual-kubelet"}), true, true},
		"the node is not ready":  {notReady(node(time.Hour, nil)), false, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			image := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
			if tc.fake {
				image.Labels = map[string]string{pub.FakeNodeImageKey: ""}
			}
			objects := []runtime.Object{image}
			if tc.node != nil {
				objects = append(objects, tc.node)
			}
			w := newWorld(t, objects...)
			writes := w.settle()
			require.Equal(t, tc.kept, w.image() != nil)
			if tc.fake {
				assert.Empty(t, writes)
				assert.Contains(t, w.image().Labels, pub.FakeNodeImageKey)
			}
		})
	}
}

// Case image-predownload 5.
func TestLabelsFollowThoseOfTheNode(t *testing.T) {
	w := newWorld(t, node(time.Hour, map[string]string{"a": "2"}),
		&v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"a": "1", "mine": "x"}}})
	assert.Equal(t, []string{"update nodeimages n1"}, w.settle())
	assert.Equal(t, map[string]string{"a": "2"}, w.image().Labels)
}

func TestNodeHeartbeatsDoNotReconcile(t *testing.T) {
	before := node(time.Hour, map[string]string{"a": "1"})
	before.ResourceVersion = "1"
	edit := func(change func(*corev1.Node)) *corev1.Node {
		after := before.DeepCopy()
		after.ResourceVersion = "2"
		change(after)
		return after
	}
	heartbeat := edit(func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(now) })
	assert.False(t, needsReconcile(before, heartbeat))
	assert.True(t, needsReconcile(before, edit(func(n *corev1.Node) { n.Labels = nil })))
	assert.True(t, needsReconcile(before, notReady(edit(func(*corev1.Node) {}))))
	assert.True(t, needsReconcile(before, edit(func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{} })))
	assert.True(t, needsReconcile(before, before), "a resync looks at everything")
}

func job(name string, edits ...func(*v1beta1.ImagePullJob)) *v1beta1.ImagePullJob {
	j := &v1beta1.ImagePullJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Spec: v1beta1.ImagePullJobSpec{Image: "nginx:1", ImagePullJobTemplate: v1beta1.ImagePullJobTemplate{
			CompletionPolicy: v1beta1.CompletionPolicy{Type: v1beta1.CompletionPolicyAlways},
		}},
	}
	for _, edit := range edits {
		edit(j)
	}
	return j
}

func ended(j *v1beta1.ImagePullJob) { j.Status.CompletionTime = new(metav1.NewTime(now)) }

func endless(j *v1beta1.ImagePullJob) { j.Spec.CompletionPolicy.Type = v1beta1.CompletionPolicyNever }

func refTo(name string) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: "apps.kruise.io/v1beta1", Kind: "ImagePullJob", Namespace: "ns", Name: name, UID: types.UID("uid-" + name),
	}
}

// nginx returns a NodeImage with a tag that was asked for a minute ago and the given status.
func nginx(owners []corev1.ObjectReference, report *v1beta1.ImageTagStatus, edits ...func(*v1beta1.ImageTagSpec)) *v1beta1.NodeImage {
	tag := v1beta1.ImageTagSpec{
		Tag: "1", Version: 3, OwnerReferences: owners, CreatedAt: new(metav1.NewTime(now.Add(-time.Minute))),
		PullPolicy: &v1beta1.ImageTagPullPolicy{TTLSecondsAfterFinished: ptr.To[int32](100)},
	}
	for _, edit := range edits {
		edit(&tag)
	}
	image := &v1beta1.NodeImage{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Spec:       v1beta1.NodeImageSpec{Images: map[string]v1beta1.ImageSpec{"nginx": {Tags: []v1beta1.ImageTagSpec{tag}}}},
	}
	if report != nil {
		report.Tag = "1"
		image.Status.ImageStatuses = map[string]v1beta1.ImageStatus{"nginx": {Tags: []v1beta1.ImageTagStatus{*report}}}
	}
	count(&image.Status, &image.Spec)
	return image
}

// succeeded returns the status of a pull that ended this long ago.
func succeeded(ago time.Duration) *v1beta1.ImageTagStatus {
	return &v1beta1.ImageTagStatus{
		Phase: v1beta1.ImagePhaseSucceeded, Version: 3, CompletionTime: new(metav1.NewTime(now.Add(-ago))), ImageID: "nginx@sha256:1",
	}
}

// Cases image-predownload 21, 23, 25, 44.
func TestTagsStayWhileAJobNeedsThem(t *testing.T) {
	undated := func(tag *v1beta1.ImageTagSpec) { tag.CreatedAt = nil }
	other := refTo("a")
	other.UID = "of an earlier one"
	stranger := corev1.ObjectReference{APIVersion: "example.com/v1", Kind: "Thing", Name: "x", UID: "x"}
	finished := succeeded
	tests := map[string]struct {
		image   *v1beta1.NodeImage
		jobs    []runtime.Object
		kept    bool
		owners  []corev1.ObjectReference
		recheck time.Duration
	}{
		"a user's, to be pulled":                    {image: nginx(nil, nil), kept: true, recheck: 9 * time.Minute},
		"a user's, in its time":                     {image: nginx(nil, finished(90*time.Second)), kept: true, recheck: 10 * time.Second},
		"a user's, beyond":                          {image: nginx(nil, finished(101*time.Second))},
		"a job's that ended, beyond":                {image: nginx([]corev1.ObjectReference{refTo("a")}, finished(101*time.Second)), jobs: []runtime.Object{job("a", ended)}},
		"an endless job's, beyond":                  {image: nginx([]corev1.ObjectReference{refTo("a")}, finished(101*time.Second)), jobs: []runtime.Object{job("a", endless)}},
		"a running job's, beyond":                   {image: nginx([]corev1.ObjectReference{refTo("a")}, finished(101*time.Second)), jobs: []runtime.Object{job("a")}, kept: true, owners: []corev1.ObjectReference{refTo("a")}},
		"of a job that is gone":                     {image: nginx([]corev1.ObjectReference{refTo("a")}, finished(0))},
		"of a job of that name":                     {image: nginx([]corev1.ObjectReference{other}, finished(0)), jobs: []runtime.Object{job("a")}},
		"one of two jobs is deleted":                {image: nginx([]corev1.ObjectReference{refTo("a"), refTo("b")}, finished(0)), jobs: []runtime.Object{job("b", ended)}, kept: true, owners: []corev1.ObjectReference{refTo("b")}, recheck: 100 * time.Second},
		"of a stranger":                             {image: nginx([]corev1.ObjectReference{stranger}, finished(0)), kept: true, owners: []corev1.ObjectReference{stranger}, recheck: 100 * time.Second},
		"without a date":                            {image: nginx(nil, nil, undated)},
		"an answer to another version ends nothing": {image: nginx(nil, &v1beta1.ImageTagStatus{Phase: v1beta1.ImagePhaseSucceeded, Version: 2, CompletionTime: &metav1.Time{}}), kept: true, recheck: 9 * time.Minute},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(tc.jobs, tc.image, node(time.Hour, nil))...)
			before := tc.image.DeepCopy()
			w.settle()
			recheck := w.step()
			image := w.image()
			if !tc.kept {
				assert.Empty(t, image.Spec.Images, "the entry goes with its last tag")
				assert.Empty(t, image.Status.ImageStatuses)
				assert.Zero(t, image.Status.Desired)
				return
			}
			require.Len(t, image.Spec.Images["nginx"].Tags, 1)
			tag := image.Spec.Images["nginx"].Tags[0]
			assert.Equal(t, tc.owners, tag.OwnerReferences)
			assert.Equal(t, before.Spec.Images["nginx"].Tags[0].Version, tag.Version, "nothing is pulled again")
			assert.Equal(t, tc.recheck, recheck)
		})
	}
}

// Case image-predownload 10.
func TestNodeThatDoesNotAnswer(t *testing.T) {
	since := func(ago time.Duration) func(*v1beta1.ImageTagSpec) {
		return func(tag *v1beta1.ImageTagSpec) { tag.CreatedAt = new(metav1.NewTime(now.Add(-ago))) }
	}
	deadline := func(seconds int64) func(*v1beta1.ImageTagSpec) {
		return func(tag *v1beta1.ImageTagSpec) { tag.PullPolicy.ActiveDeadlineSeconds = &seconds }
	}
	limits := func(tag *v1beta1.ImageTagSpec) {
		tag.PullPolicy.TimeoutSeconds, tag.PullPolicy.BackoffLimit = ptr.To[int32](60), ptr.To[int32](1)
	}
	waiting := &v1beta1.ImageTagStatus{Phase: v1beta1.ImagePhaseWaiting, Version: 3}
	pulling := func(version int64, ago time.Duration) *v1beta1.ImageTagStatus {
		return &v1beta1.ImageTagStatus{Phase: v1beta1.ImagePhasePulling, Version: version, StartTime: new(metav1.NewTime(now.Add(-ago)))}
	}
	tests := map[string]struct {
		report  *v1beta1.ImageTagStatus
		edits   []func(*v1beta1.ImageTagSpec)
		message string
		recheck time.Duration
	}{
		"no word for 10 min":            {nil, []func(*v1beta1.ImageTagSpec){since(10 * time.Minute)}, silent, 0},
		"no word yet":                   {nil, []func(*v1beta1.ImageTagSpec){since(9 * time.Minute)}, "", time.Minute},
		"a word about another version":  {pulling(2, time.Hour), []func(*v1beta1.ImageTagSpec){since(11 * time.Minute)}, silent, 0},
		"it pulls":                      {pulling(3, time.Minute), []func(*v1beta1.ImageTagSpec){since(5 * time.Minute), limits}, "", 3*time.Minute + 5*time.Minute},
		"it pulls, and is dead":         {pulling(3, 14*time.Minute), []func(*v1beta1.ImageTagSpec){since(20 * time.Minute), limits}, silent, 0},
		"it waits its turn":             {waiting, []func(*v1beta1.ImageTagSpec){since(10 * time.Minute), limits}, "", 3 * time.Minute},
		"it waits longer than all take": {waiting, []func(*v1beta1.ImageTagSpec){since(13 * time.Minute), limits}, silent, 0},
		"a start in the far future":     {pulling(3, -280*365*24*time.Hour), []func(*v1beta1.ImageTagSpec){since(13 * time.Minute), limits}, silent, 0},
		"a start that moves":            {pulling(3, time.Second), []func(*v1beta1.ImageTagSpec){since(13 * time.Minute), limits}, silent, 0},
		"another version, the largest":  {pulling(math.MaxInt64, 0), []func(*v1beta1.ImageTagSpec){since(10 * time.Minute)}, silent, 0},
		"the longest deadline":          {pulling(3, time.Minute), []func(*v1beta1.ImageTagSpec){since(time.Minute), limits, deadline(math.MaxInt64)}, "", 12 * time.Minute},
		"the longest attempts": {pulling(3, time.Minute), []func(*v1beta1.ImageTagSpec){since(time.Minute), func(tag *v1beta1.ImageTagSpec) {
			tag.PullPolicy.TimeoutSeconds, tag.PullPolicy.BackoffLimit = ptr.To[int32](math.MaxInt32), ptr.To[int32](math.MaxInt32)
		}}, "", math.MaxInt32*time.Second + 9*time.Minute},
		"a timeout and a deadline of 0, which mean the defaults": {pulling(3, 39*time.Minute), []func(*v1beta1.ImageTagSpec){
			since(40 * time.Minute), deadline(0), func(tag *v1beta1.ImageTagSpec) { tag.PullPolicy.TimeoutSeconds = ptr.To[int32](0) },
		}, "", 12 * time.Minute},
		"beyond its deadline":           {pulling(3, 11*time.Minute), []func(*v1beta1.ImageTagSpec){since(11 * time.Minute), deadline(60)}, late, 0},
		"within its deadline":           {pulling(3, 10*time.Minute), []func(*v1beta1.ImageTagSpec){since(10 * time.Minute), deadline(61)}, "", 61 * time.Second},
		"what has ended stays as it is": {succeeded(0), []func(*v1beta1.ImageTagSpec){since(time.Hour), deadline(60)}, "", 100 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			owner := refTo("a")
			w := newWorld(t, nginx([]corev1.ObjectReference{owner}, tc.report, tc.edits...), job("a", ended), node(time.Hour, nil))
			recheck := w.step()
			writes := w.Writes()
			if tc.message == "" {
				assert.Empty(t, writes)
				assert.Empty(t, w.Events())
				assert.Equal(t, tc.recheck, recheck)
				return
			}
			assert.Equal(t, []string{"update nodeimages/status n1"}, writes)
			image := w.image()
			report := image.Status.ImageStatuses["nginx"].Tags[0]
			assert.Equal(t, v1beta1.ImagePhaseFailed, report.Phase)
			assert.EqualValues(t, 3, report.Version)
			assert.Equal(t, tc.message, report.Message)
			assert.True(t, report.CompletionTime.Time.Equal(now))
			assert.EqualValues(t, 1, image.Status.Failed)
			assert.Zero(t, image.Status.Pulling)
			text := "Warning PullImageFailed Failed to pull image nginx:1 on node n1 for " + tc.message
			assert.Equal(t, []string{text, text}, w.Events(), "to the job and to the NodeImage")
		})
	}
}

// The node is not ready, so its agent cannot finish the pull. A job must not wait for the node.
func TestNodeThatIsNotReadyFailsItsPulls(t *testing.T) {
	report := &v1beta1.ImageTagStatus{
		Phase: v1beta1.ImagePhasePulling, Version: 3, StartTime: new(metav1.NewTime(now.Add(-15 * time.Minute))),
	}
	for name, tc := range map[string]struct {
		since  time.Duration
		failed bool
	}{"for 9 min": {9 * time.Minute, false}, "for 10 min": {10 * time.Minute, true}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nginx(nil, report, func(tag *v1beta1.ImageTagSpec) { tag.CreatedAt = new(metav1.NewTime(now.Add(-15 * time.Minute))) }),
				notReady(node(tc.since, nil)))
			recheck := w.step()
			assert.Equal(t, tc.failed, w.image().Status.Failed == 1)
			if !tc.failed {
				assert.Equal(t, time.Minute, recheck.Truncate(time.Minute), "until the next look")
			}
		})
	}
}

// TestCountsAreTheAgentsFirst checks that the agent reports on a new tag before the controller counts it.
func TestCountsAreTheAgentsFirst(t *testing.T) {
	image := nginx(nil, nil, func(tag *v1beta1.ImageTagSpec) { tag.CreatedAt = new(metav1.NewTime(now)) })
	image.Status = v1beta1.NodeImageStatus{}
	w := newWorld(t, image, node(time.Hour, nil))
	assert.Equal(t, countsPatience, w.step())
	assert.Empty(t, w.Writes())
	w.Clock.SetTime(now.Add(countsPatience))
	assert.Equal(t, []string{"update nodeimages/status n1"}, w.settle())
	assert.EqualValues(t, 1, w.image().Status.Desired)
}

func TestRefsWhoseSecretIsGone(t *testing.T) {
	image := nginx(nil, succeeded(0))
	entry := image.Spec.Images["nginx"]
	entry.PullSecrets = []v1beta1.ReferenceObject{
		{Namespace: "ns", Name: "there"}, {Namespace: "ns", Name: "gone"}, {Namespace: "ns", Name: "kept", Mode: v1beta1.BatchReferenceMode},
	}
	image.Spec.Images["nginx"] = entry
	w := newWorld(t, image, node(time.Hour, nil), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "there"}})
	w.settle()
	assert.Equal(t, []v1beta1.ReferenceObject{entry.PullSecrets[0], entry.PullSecrets[2]}, w.image().Spec.Images["nginx"].PullSecrets)
}

// TestDeletedJobsReconcileTheirNodeImages checks that a deleted job wakes its NodeImages through the index, even if the process has
// just started.
func TestDeletedJobsReconcileTheirNodeImages(t *testing.T) {
	w := newWorld(t, nginx([]corev1.ObjectReference{refTo("a")}, nil), &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "n2"}})
	w.Observe()
	images := w.Deps.KruiseInformers.Apps().V1beta1().NodeImages().Informer().GetIndexer()
	its := []types.NamespacedName{{Name: "n1"}}
	again := job("a")
	again.UID = "another"
	assert.Equal(t, its, w.r.concerned(images, job("a"), nil), "deleted")
	assert.Equal(t, its, w.r.concerned(images, job("a"), again), "deleted and created again")
	assert.Equal(t, its, w.r.concerned(images, job("a"), job("a", ended)), "ended")
	assert.Equal(t, its, w.r.concerned(images, job("a"), job("a", endless)), "it never completes any more")
	assert.Empty(t, w.r.concerned(images, job("a", endless), job("a", ended, endless)), "it did not count the tags before")
	assert.Empty(t, w.r.concerned(images, nil, job("a")))
	assert.Empty(t, w.r.concerned(images, job("a"), job("a")))
	assert.Empty(t, w.r.concerned(images, job("b"), nil))
}

func TestSpread(t *testing.T) {
	assert.Zero(t, spread(0))
	assert.Equal(t, 3*time.Second, spread(3*time.Second))
	for range 100 {
		got := spread(time.Millisecond)
		assert.GreaterOrEqual(t, got, 3*time.Second)
		assert.LessOrEqual(t, got, 5*time.Second)
	}
}

// A node that was created again may be another machine, which has none of the images.
func TestNodeThatIsCreatedAgainHasNoOldReports(t *testing.T) {
	first := node(time.Hour, nil)
	first.UID = "old"
	w := newWorld(t, first)
	w.settle()
	image := w.image()
	image.Spec.Images = map[string]v1beta1.ImageSpec{"app": {Tags: []v1beta1.ImageTagSpec{{Tag: "1", CreatedAt: new(metav1.NewTime(now))}}}}
	w.Update(image)
	w.settle()
	require.NotEmpty(t, w.image().Spec.Images)
	again := node(time.Hour, nil)
	again.UID = "new"
	w.Update(again)
	w.settle()
	w.step()
	require.NotNil(t, w.image())
	assert.Empty(t, w.image().Spec.Images)
}
