package imagepulljob

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/imagetag"
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
	r, skeleton := build(f.Deps, Options{PullSecretsNamespace: pub.DaemonConfigNamespace, Namespace: controllertest.SystemNamespace, TagTTL: 5 * time.Minute})
	f.Control(skeleton)
	return &world{Fixture: f, t: t, r: r}
}

// newJob returns a job with the server's defaults.
func newJob(name string, edits ...func(*v1beta1.ImagePullJob)) *v1beta1.ImagePullJob {
	job := &v1beta1.ImagePullJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Generation: 1, Finalizers: []string{pub.DeletionProtectionFinalizer},
		},
		Spec: v1beta1.ImagePullJobSpec{Image: "nginx:1.9.1", ImagePullJobTemplate: v1beta1.ImagePullJobTemplate{
			PullPolicy:       &v1beta1.PullPolicy{TimeoutSeconds: ptr.To[int32](600), BackoffLimit: ptr.To[int32](3)},
			CompletionPolicy: v1beta1.CompletionPolicy{Type: v1beta1.CompletionPolicyAlways}, ImagePullPolicy: v1beta1.PullIfNotPresent,
		}},
	}
	for _, edit := range edits {
		edit(job)
	}
	return job
}

func limit(parallelism string) func(*v1beta1.ImagePullJob) {
	return func(job *v1beta1.ImagePullJob) { job.Spec.Parallelism = new(intstr.Parse(parallelism)) }
}

func never(job *v1beta1.ImagePullJob) { job.Spec.CompletionPolicy.Type = v1beta1.CompletionPolicyNever }

func named(names ...string) func(*v1beta1.ImagePullJob) {
	return func(job *v1beta1.ImagePullJob) { job.Spec.Selector = &v1beta1.ImagePullJobNodeSelector{Names: names} }
}

func beside(labels map[string]string) func(*v1beta1.ImagePullJob) {
	return func(job *v1beta1.ImagePullJob) {
		job.Spec.PodSelector = &v1beta1.ImagePullJobPodSelector{LabelSelector: metav1.LabelSelector{MatchLabels: labels}}
	}
}

// nodeImages returns n1 to n<count>.
func nodeImages(count int) (images []runtime.Object) {
	for i := range count {
		images = append(images, &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i+1)}})
	}
	return images
}

// step brings the caches up to date and reconciles a job once.
func (w *world) step(name string) time.Duration { return w.Step("ns", name) }

// settle reconciles a job until nothing more is written.
func (w *world) settle(name string) {
	w.t.Helper()
	w.Writes()
	w.Converge("ns", name)
}

func (w *world) job(name string) *v1beta1.ImagePullJob {
	w.t.Helper()
	job, err := w.Kruise.AppsV1beta1().ImagePullJobs("ns").Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return job
}

// edit changes a job as a user does.
func (w *world) edit(name string, edit func(*v1beta1.ImagePullJob)) {
	w.t.Helper()
	job := w.job(name)
	edit(job)
	job.Generation++
	w.Update(job)
}

func (w *world) image(node string) *v1beta1.NodeImage {
	w.t.Helper()
	image, err := w.Kruise.AppsV1beta1().NodeImages().Get(w.t.Context(), node, metav1.GetOptions{})
	require.NoError(w.t, err)
	return image
}

var ref = imagetag.Reference{Name: "nginx", Tag: "1.9.1"}

// tag returns the tag that a node is asked for, or nil.
func (w *world) tag(node string) *v1beta1.ImageTagSpec { return ref.Wanted(w.image(node)) }

// unfinished returns the nodes that were asked and have not finished.
func (w *world) unfinished() (nodes []string) {
	w.t.Helper()
	list, err := w.Kruise.AppsV1beta1().NodeImages().List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for i := range list.Items {
		image := &list.Items[i]
		tag := ref.Wanted(image)
		if tag == nil {
			continue
		}
		if answer := ref.Answer(image, tag.Version); answer == nil || answer.CompletionTime == nil {
			nodes = append(nodes, image.Name)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// answer makes a node report on the version that it is asked for.
func (w *world) answer(node string, phase v1beta1.ImagePullPhase) {
	w.t.Helper()
	image := w.image(node)
	report := v1beta1.ImageTagStatus{Tag: ref.Tag, Phase: phase, Version: ref.Wanted(image).Version}
	if phase == v1beta1.ImagePhaseSucceeded || phase == v1beta1.ImagePhaseFailed {
		report.CompletionTime = new(metav1.NewTime(w.Clock.Now()))
	}
	image.Status.ImageStatuses = map[string]v1beta1.ImageStatus{ref.Name: {Tags: []v1beta1.ImageTagStatus{report}}}
	w.Update(image)
}

// drop removes a node's tag as the controller of NodeImages does, with or without its status.
func (w *world) drop(node string, withReport bool) {
	w.t.Helper()
	before := w.image(node)
	after := before.DeepCopy()
	after.Spec.Images = nil
	if withReport {
		after.Status.ImageStatuses = nil
	}
	w.Update(after)
	w.events().nodeImage(before, after)
}

func (w *world) events() *events {
	return &events{
		jobs: w.Deps.KruiseInformers.Apps().V1beta1().ImagePullJobs().Informer().GetIndexer(), lister: w.r.jobs, left: w.r.remember,
	}
}

func pod(name, node string, edits ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"app": "a"}}, Spec: corev1.PodSpec{NodeName: node},
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

// pass lets time pass.
func (w *world) pass(d time.Duration) { w.Clock.SetTime(w.Clock.Now().Add(d)) }
