package broadcastjob

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/nodefit"
)

type edit = func(*v1beta1.BroadcastJobSpec)

// newJob returns a BroadcastJob named job with the server's defaults.
func newJob(edits ...edit) *v1beta1.BroadcastJob {
	job := &v1beta1.BroadcastJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps.kruise.io/v1beta1", Kind: "BroadcastJob"},
		ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "job"},
		Spec: v1beta1.BroadcastJobSpec{
			Parallelism: new(intstr.FromInt32(1<<31 - 1)),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "app:1"}},
			}},
			CompletionPolicy: v1beta1.CompletionPolicy{Type: v1beta1.CompletionPolicyAlways},
			FailurePolicy:    v1beta1.FailurePolicy{Type: v1beta1.FailurePolicyTypeFailFast},
		},
	}
	for _, edit := range edits {
		edit(&job.Spec)
	}
	return job
}

func parallelism(value string) edit {
	return func(s *v1beta1.BroadcastJobSpec) { s.Parallelism = new(intstr.Parse(value)) }
}

func policy(value v1beta1.FailurePolicyType) edit {
	return func(s *v1beta1.BroadcastJobSpec) { s.FailurePolicy.Type = value }
}

func paused(value bool) edit { return func(s *v1beta1.BroadcastJobSpec) { s.Paused = value } }

func never(s *v1beta1.BroadcastJobSpec) {
	s.CompletionPolicy = v1beta1.CompletionPolicy{Type: v1beta1.CompletionPolicyNever}
}

func ttl(seconds int32) edit {
	return func(s *v1beta1.BroadcastJobSpec) { s.CompletionPolicy.TTLSecondsAfterFinished = &seconds }
}

func deadline(seconds int64) edit {
	return func(s *v1beta1.BroadcastJobSpec) { s.CompletionPolicy.ActiveDeadlineSeconds = &seconds }
}

func newNode(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}},
	}
}

// nodes returns objects of nodes n1, n2 and so on.
func nodes(n int) (all []runtime.Object) {
	for i := range n {
		all = append(all, newNode("n"+string(rune('1'+i))))
	}
	return all
}

// world is a fixture with a reconciler.
type world struct {
	*controllertest.Fixture
	t       *testing.T
	r       *Reconciler
	guard   *consistency.Guard
	recheck time.Duration
	// most is the largest number of Pods that had not ended.
	most int
}

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	f := controllertest.New(t, "", objects...)
	r, of := build(f.Deps, Options{})
	f.Control(of)
	return &world{Fixture: f, t: t, r: r, guard: of.Guard()}
}

// restart forgets all that the controller keeps in memory.
func (w *world) restart() {
	w.r.engine.Forget("job")
	w.guard.Forget("job")
	w.r.statuses.Pace = engine.NewPace(w.Clock)
}

func (w *world) step() { w.recheck = w.Step("ns", "job"); w.watch() }

func (w *world) watch() {
	running := 0
	for _, pod := range w.Pods() {
		running += one(pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed)
	}
	w.most = max(w.most, running)
}

// settle reconciles until nothing more is written.
func (w *world) settle() { w.Settle(w.step) }

// end lets the Pods of nodes end in a phase. Without nodes, all Pods that run end.
func (w *world) end(phase corev1.PodPhase, nodes ...string) {
	for _, pod := range w.Pods() {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if ended || len(nodes) > 0 && !slices.Contains(nodes, nodefit.NodeOf(pod)) {
			continue
		}
		w.changePod(pod, func(pod *corev1.Pod) { pod.Status.Phase, pod.Spec.NodeName = phase, nodefit.NodeOf(pod) })
	}
}

// finish lets all Pods succeed until the job changes nothing any more.
func (w *world) finish() {
	w.settle()
	for range 20 {
		w.end(corev1.PodSucceeded)
		w.settle()
	}
}

func (w *world) job() *v1beta1.BroadcastJob {
	w.t.Helper()
	job, err := w.Kruise.AppsV1beta1().BroadcastJobs("ns").Get(w.t.Context(), "job", metav1.GetOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	return job
}

func (w *world) edit(edits ...edit) {
	w.t.Helper()
	job := w.job()
	for _, edit := range edits {
		edit(&job.Spec)
	}
	w.Update(job)
}

func (w *world) pass(d time.Duration) { w.Clock.SetTime(w.Clock.Now().Add(d)) }

func (w *world) on() (names []string) {
	for _, pod := range w.Pods() {
		names = append(names, nodefit.NodeOf(pod))
	}
	slices.Sort(names)
	return names
}

func (w *world) podOn(node string) *corev1.Pod {
	w.t.Helper()
	for _, pod := range w.Pods() {
		if nodefit.NodeOf(pod) == node {
			return pod
		}
	}
	require.Failf(w.t, "no Pod", "on %s", node)
	return nil
}

func (w *world) changePod(pod *corev1.Pod, edit func(*corev1.Pod)) {
	w.t.Helper()
	after := pod.DeepCopy()
	edit(after)
	w.Update(after)
}

func (w *world) changeNode(name string, edit func(*corev1.Node)) {
	w.t.Helper()
	node, err := w.Kube.CoreV1().Nodes().Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	w.Kube.ClearActions()
	edit(node)
	w.Update(node)
}

// eventsLike returns the events since the last call that begin with one of the prefixes.
func (w *world) eventsLike(prefixes ...string) (found []string) {
	for _, event := range w.Events() {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(event, prefix) }) {
			found = append(found, event)
		}
	}
	return found
}
