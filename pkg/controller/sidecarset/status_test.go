package sidecarset

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/sidecar"
)

func newConflict() error { return apierrors.NewConflict(corev1.Resource("pods"), "web", nil) }

// Cases sidecarset 32, 34, 35.
func TestWhichPodsAreCounted(t *testing.T) {
	tests := map[string]struct {
		set  func(*v1beta1.SidecarSet)
		pod  func(*corev1.Pod)
		want [4]int32
	}{
		"a Pod":          {want: [4]int32{1, 1, 1, 1}},
		"not ready":      {pod: func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, want: [4]int32{1, 1, 0, 0}},
		"created before": {pod: func(p *corev1.Pod) { p.Annotations = nil }},
		"ended":          {pod: func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }},
		"being deleted": {pod: func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: controllertest.Now}, []string{"a/b"}
		}},
		"of another SidecarSet":     {pod: func(p *corev1.Pod) { p.Annotations["kruise.io/sidecarset-injected-list"] = "other,logs2" }},
		"of several SidecarSets":    {pod: func(p *corev1.Pod) { p.Annotations["kruise.io/sidecarset-injected-list"] = "a,logs" }, want: [4]int32{1, 1, 1, 1}},
		"its labels changed":        {pod: func(p *corev1.Pod) { p.Labels["app"] = "db" }},
		"it lacks a container":      {pod: func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] }},
		"another namespace":         {set: inNamespace("env", "prod"), want: [4]int32{}},
		"its namespace":             {set: inNamespace("kubernetes.io/metadata.name", "ns"), want: [4]int32{1, 1, 1, 1}},
		"with init containers only": {set: func(set *v1beta1.SidecarSet) { set.Spec.InitContainers, set.Spec.Containers = set.Spec.Containers, nil }, want: [4]int32{1, 1, 1, 1}},
		"hot, and without the annotation": {set: hot, pod: func(p *corev1.Pod) {
			delete(p.Annotations, "kruise.io/sidecarset-working-hotupgrade-container")
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			edits := []func(*v1beta1.SidecarSet){}
			if test.set != nil {
				edits = append(edits, test.set)
			}
			w := newWorld(t, edits...)
			w.start(1, func(pod *corev1.Pod) {
				if test.pod != nil {
					test.pod(pod)
				}
			})
			w.pass()
			assert.Equal(t, test.want, w.counters())
			assert.Equal(t, int64(1), w.set().Status.ObservedGeneration)
			require.NotNil(t, w.set().Status.CollisionCount)
		})
	}
}

func inNamespace(key, value string) func(*v1beta1.SidecarSet) {
	return func(set *v1beta1.SidecarSet) {
		set.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
}

// Case sidecarset 33.
func TestDigestsDecideByTheImageID(t *testing.T) {
	digest := func(c string) string {
		text := ""
		for range 64 {
			text += c
		}
		return "sha256:" + text
	}
	w := newWorld(t, image("s@"+digest("a")))
	w.start(1)
	w.settle()
	assert.Equal(t, [4]int32{1, 1, 1, 1}, w.counters(), "the fake runtime reports the digest in the image ID")
	w.change(w.Pods()[0], func(pod *corev1.Pod) { pod.Status.ContainerStatuses[1].ImageID = "s@" + digest("b") })
	w.pass()
	assert.Equal(t, [4]int32{1, 1, 0, 0}, w.counters())

	// Some runtimes report the digest of the image's configuration, which is another one. Then the records decide.
	w.change(w.Pods()[0], func(pod *corev1.Pod) { pod.Status.ContainerStatuses[1].ImageID = digest("c") })
	w.pass()
	assert.Equal(t, [4]int32{1, 1, 1, 1}, w.counters())
	w.edit(image("s@" + digest("d")))
	w.pass()
	w.pass()
	assert.Equal(t, [4]int32{1, 1, 0, 0}, w.counters(), "the node has not started the new image yet")
}

// watchPod tells the controller about a change of a Pod, as its informer does.
func (w *world) watchPod(before, after *corev1.Pod) (keys []string) {
	w.Observe()
	var old, pod metav1.Object
	if before != nil {
		old = before
	}
	if after != nil {
		pod = after
	}
	for _, key := range w.r.changedPod(old, pod) {
		keys = append(keys, key.Name)
	}
	return keys
}

// Cases sidecarset 42, 43.
func TestCountersWithoutUpdates(t *testing.T) {
	w := newWorld(t, notUpdate)
	w.pass()
	pods := w.start(2, func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse })
	for _, pod := range pods {
		require.Equal(t, []string{"logs"}, w.watchPod(nil, pod))
	}
	w.pass()
	assert.Equal(t, [4]int32{2, 2, 0, 0}, w.counters())
	before := pods[0].DeepCopy()
	w.change(pods[0], func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionTrue })
	assert.Equal(t, []string{"logs"}, w.watchPod(before, w.Pods()[0]))
	assert.Empty(t, w.watchPod(before, before), "a resync is ignored")
	w.pass()
	assert.Equal(t, [4]int32{2, 2, 1, 1}, w.counters())
	w.edit(image("s:2"))
	w.settle()
	assert.Equal(t, [4]int32{2, 0, 2, 0}, w.counters(), "both are ready by now")
	assert.Equal(t, 2, w.count("s", "s:1"))
}

func TestPodIsCountedAfterAPassThatFailed(t *testing.T) {
	tests := map[string]func(*world){
		"the status is not written": func(w *world) {
			failed := false
			w.Kruise.PrependReactor("update", "sidecarsets", func(clienttesting.Action) (bool, runtime.Object, error) {
				first := !failed
				failed = true
				return first, nil, apierrors.NewInternalError(errors.New("the connection was lost"))
			})
		},
		"the revisions are not read": func(w *world) {
			revisions := w.r.revisions
			w.r.revisions = func(types.UID) ([]*appsv1.ControllerRevision, error) {
				w.r.revisions = revisions
				return nil, errors.New("no index")
			}
		},
		"the Pods are not read": func(w *world) {
			pods := w.r.selectedPods
			w.r.selectedPods = func(string, labels.Selector) ([]*corev1.Pod, error) {
				w.r.selectedPods = pods
				return nil, errors.New("no index")
			}
		},
	}
	for name, failOnce := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, notUpdate, func(set *v1beta1.SidecarSet) {
				set.Annotations = map[string]string{"apps.kruise.io/sidecarset-injects-since": controllertest.Now.Format(time.RFC3339)}
			})
			w.settle()
			require.Equal(t, []string{"logs"}, w.watchPod(nil, w.start(1)[0]))
			failOnce(w)
			require.Error(t, w.tryPass())
			require.Zero(t, w.counters())
			w.pass()
			assert.Equal(t, [4]int32{1, 1, 1, 1}, w.counters())
		})
	}
}

// A change of a Pod concerns its SidecarSets only if it may change a status or an upgrade.
func TestWhichChangesOfPodsMatter(t *testing.T) {
	tests := map[string]struct {
		edit func(*corev1.Pod)
		want bool
	}{
		"nothing":       {func(*corev1.Pod) {}, false},
		"a heartbeat":   {func(p *corev1.Pod) { p.Status.Conditions[0].LastProbeTime = metav1.Now() }, false},
		"ready":         {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, true},
		"an instance":   {func(p *corev1.Pod) { p.Status.ContainerStatuses[1].ContainerID = "x" }, true},
		"a label":       {func(p *corev1.Pod) { p.Labels["x"] = "y" }, true},
		"being deleted": {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: controllertest.Now} }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Observe()
			before := w.start(1)[0].DeepCopy()
			after := before.DeepCopy()
			test.edit(after)
			assert.Equal(t, test.want, len(w.watchPod(before, after)) > 0)
		})
	}
}

// Cases sidecarset 24, 25, 49.
func TestHistory(t *testing.T) {
	w := newWorld(t)
	w.settle()
	first := w.revisions()[0]
	assert.Equal(t, "logs-"+first.Labels["controller.kubernetes.io/hash"], first.Name)
	assert.Equal(t, "logs", first.Labels["kruise.io/sidecarset-name"])
	assert.Equal(t, "a", first.Labels["team"])
	assert.Equal(t, w.set().Annotations["kruise.io/sidecarset-hash"], first.Annotations["kruise.io/sidecarset-hash"])
	require.Len(t, first.OwnerReferences, 1)
	assert.Equal(t, w.set().UID, first.OwnerReferences[0].UID)
	for _, field := range []string{`"$patch":"replace"`, `"volumes":null`, `"containers":[{`, `"initContainers":null`, `"imagePullSecrets":null`, `"patchPodMetadata":null`} {
		assert.Contains(t, string(first.Data.Raw), field)
	}
	for i := 2; i <= 15; i++ {
		w.edit(image(fmt.Sprint("s:", i)))
		w.settle()
		assert.Equal(t, w.revisions()[len(w.revisions())-1].Name, w.set().Status.LatestRevision)
	}
	assert.Equal(t, []int64{6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, w.numbers())
	w.edit(image("s:12"))
	w.settle()
	assert.Equal(t, []int64{6, 7, 8, 9, 10, 11, 13, 14, 15, 16}, w.numbers())

	hash := w.set().Annotations["kruise.io/sidecarset-hash"]
	w.edit(func(set *v1beta1.SidecarSet) {
		set.Spec.InitContainers = []v1beta1.SidecarContainer{{Container: corev1.Container{Name: "init", Image: "i:1"}}}
	})
	w.settle()
	assert.Equal(t, hash, w.set().Annotations["kruise.io/sidecarset-hash"])
	assert.Equal(t, []int64{7, 8, 9, 10, 11, 13, 14, 15, 16, 17}, w.numbers(), "content that no hash covers is a revision too")
}

// Revisions in use are kept, also beyond the limit.
func TestRevisionsInUseAreKept(t *testing.T) {
	w := newWorld(t, notUpdate, func(set *v1beta1.SidecarSet) { set.Spec.RevisionHistoryLimit = new(int32(0)) })
	w.settle()
	w.start(1)
	for i := 2; i <= 4; i++ {
		w.edit(image(fmt.Sprint("s:", i)), func(set *v1beta1.SidecarSet) { set.Spec.CustomVersion = fmt.Sprint("v", i) })
		w.settle()
	}
	assert.Equal(t, []int64{1, 4}, w.numbers(), "that of the Pod, and the newest")
	w.edit(image("s:5"), func(set *v1beta1.SidecarSet) {
		set.Spec.CustomVersion = "v5"
		set.Spec.InjectionStrategy.Revision = &v1beta1.SidecarSetInjectRevision{CustomVersion: new("v4")}
	})
	w.settle()
	assert.Equal(t, []int64{1, 4, 5}, w.numbers(), "and that for new Pods")
}

func TestDeletedRevisionIsStoredAgain(t *testing.T) {
	w := newWorld(t)
	w.start(1)
	w.settle()
	w.live(func(idle func()) {
		require.Len(t, w.revisions(), 1)
		name := w.revisions()[0].Name
		require.NoError(t, w.Kube.AppsV1().ControllerRevisions(controllertest.SystemNamespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
		idle()
		require.Len(t, w.revisions(), 1)
		assert.Equal(t, name, w.revisions()[0].Name)
	})
}

// A custom version alone names the newest revision, and makes no new one.
func TestCustomVersionIsALabel(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.edit(func(set *v1beta1.SidecarSet) { set.Spec.CustomVersion = "v1" })
	w.settle()
	require.Equal(t, []int64{1}, w.numbers())
	assert.Equal(t, "v1", w.revisions()[0].Labels["apps.kruise.io/sidecarset-custom-version"])
}

// If the name of a revision is taken by other data, the collision count changes the name.
func TestNameOfARevisionIsTaken(t *testing.T) {
	w := newWorld(t)
	data, err := sidecar.Data(&w.set().Spec)
	require.NoError(t, err)
	w.Add(&appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "logs-" + sidecar.Revisions.Hash(data, nil), Namespace: controllertest.SystemNamespace},
		Data:       runtime.RawExtension{Raw: []byte(`{}`)},
	})
	w.settle()
	assert.EqualValues(t, 1, *w.set().Status.CollisionCount)
	assert.Equal(t, "logs-"+sidecar.Revisions.Hash(data, new(int32(1))), w.set().Status.LatestRevision)
	assert.Equal(t, w.set().Status.LatestRevision, sidecar.RevisionName(w.set(), w.revisions))
}

// A Pod that is created before the controller has observed a change records the revision that the controller then uses.
func TestRevisionIsNamedBeforeTheChangeIsObserved(t *testing.T) {
	unknown := func(*world) []*appsv1.ControllerRevision { return nil }
	tests := map[string]struct {
		before []func(*v1beta1.SidecarSet)
		change func(*v1beta1.SidecarSet)
		// stored are the revisions that admission sees.
		stored func(*world) []*appsv1.ControllerRevision
	}{
		"a strategy changes":                             {change: maxUnavailable(intstr.FromInt32(3)), stored: (*world).revisions},
		"a strategy changes, and no revision is seen":    {change: maxUnavailable(intstr.FromInt32(3)), stored: unknown},
		"new content":                                    {change: image("s:2"), stored: (*world).revisions},
		"the second content again":                       {before: []func(*v1beta1.SidecarSet){image("s:2"), image("s:3")}, change: image("s:2"), stored: (*world).revisions},
		"the first content again":                        {before: []func(*v1beta1.SidecarSet){image("s:2")}, change: image("s:1"), stored: (*world).revisions},
		"the first content again, and no revision seen":  {before: []func(*v1beta1.SidecarSet){image("s:2")}, change: image("s:1"), stored: unknown},
		"the second content again, and no revision seen": {before: []func(*v1beta1.SidecarSet){image("s:2"), image("s:3")}, change: image("s:2"), stored: unknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.settle()
			for _, edit := range test.before {
				w.edit(edit)
				w.settle()
			}
			w.edit(test.change)
			named := sidecar.RevisionName(w.set(), func() []*appsv1.ControllerRevision { return test.stored(w) })
			w.settle()
			assert.Equal(t, w.set().Status.LatestRevision, named)
			assert.Zero(t, *w.set().Status.CollisionCount)
		})
	}
}

// A collision count or an earlier release gave the stored revision a name that its content does not have any more. It is still used.
func TestStoredRevisionKeepsItsName(t *testing.T) {
	w := newWorld(t)
	data, err := sidecar.Data(&w.set().Spec)
	require.NoError(t, err)
	name := "logs-" + history.DataHash(data, new(int32(0)))
	w.Add(&appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: controllertest.SystemNamespace, Labels: map[string]string{"kruise.io/sidecarset-name": "logs"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w.set(), kind)},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: 1,
	})
	assert.Equal(t, name, sidecar.RevisionName(w.set(), w.revisions))
	w.settle()
	assert.Equal(t, name, w.set().Status.LatestRevision)
	assert.Len(t, w.revisions(), 1)
}

// Case sidecarset 52.
func TestPodsLeftWithoutInjectionAreCountedAndNamed(t *testing.T) {
	since := func(set *v1beta1.SidecarSet) {
		set.Annotations = map[string]string{"apps.kruise.io/sidecarset-injects-since": controllertest.Now.Format(time.RFC3339)}
	}
	tests := map[string]struct {
		set  func(*v1beta1.SidecarSet)
		pod  func(*corev1.Pod)
		want int32
	}{
		"created later, without injection": {want: 1},
		"created before":                   {pod: func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(controllertest.Now) }},
		"injected":                         {pod: func(p *corev1.Pod) { p.Annotations = map[string]string{"kruise.io/sidecarset-injected-list": "logs"} }},
		"with other labels":                {pod: func(p *corev1.Pod) { p.Labels["app"] = "db" }},
		"ended":                            {pod: func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }},
		"the copy of a static Pod":         {pod: func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }},
		"in another namespace":             {set: inNamespace("env", "prod")},
		"paused":                           {set: func(set *v1beta1.SidecarSet) { set.Spec.InjectionStrategy.Paused = true }},
		"in a namespace without reviews":   {pod: func(p *corev1.Pod) { p.Namespace = "kube-system" }},
		"new Pods only":                    {set: notUpdate, want: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			edits := []func(*v1beta1.SidecarSet){since}
			if test.set != nil {
				edits = append(edits, test.set)
			}
			w := newWorld(t, edits...)
			w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}})
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: "web", Namespace: "ns", Labels: map[string]string{"app": "web"}, CreationTimestamp: metav1.NewTime(controllertest.Now.Add(2 * time.Second)),
			}}
			if test.pod != nil {
				test.pod(pod)
			}
			w.Add(pod)
			w.pass()
			w.pass()
			assert.Equal(t, test.want, w.set().Status.UninjectedPods)
			events := w.Events()
			if test.want == 0 {
				assert.Empty(t, events)
				return
			}
			assert.Equal(t, []string{"Warning PodsNotInjected 1 Pods were created without the containers of this SidecarSet; recreate them: ns/web"}, events)
			assert.Equal(t, []string{"logs"}, w.watchPod(nil, pod), "its creation causes a pass")
			relabelled, terminating := pod.DeepCopy(), pod.DeepCopy()
			relabelled.Labels["app"] = "db"
			assert.Equal(t, []string{"logs"}, w.watchPod(pod, relabelled), "and a change of its labels")
			terminating.DeletionTimestamp = new(metav1.Now())
			assert.Equal(t, []string{"logs"}, w.watchPod(pod, terminating), "and its deletion")
			assert.Equal(t, []string{"logs"}, w.watchPod(pod, nil), "even if its end was not seen")
			assert.Empty(t, w.watchPod(terminating, nil), "a Pod that was terminating did not count any more")
			require.NoError(t, w.Kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", "web"))
			w.settle()
			assert.Zero(t, w.set().Status.UninjectedPods)
		})
	}
}

// A pass began with a copy of the SidecarSet that the cache has replaced since, for example after the watch started again.
func TestPodsLeftWithoutInjectionAreCountedAfterTheCacheWasReplaced(t *testing.T) {
	w := newWorld(t, func(set *v1beta1.SidecarSet) {
		set.Annotations = map[string]string{"apps.kruise.io/sidecarset-injects-since": controllertest.Now.Format(time.RFC3339)}
	})
	w.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "ns", Labels: map[string]string{"app": "web"}, CreationTimestamp: metav1.NewTime(controllertest.Now.Add(2 * time.Second)),
	}})
	w.Observe()
	v, err := w.r.observe(w.r.set("logs").DeepCopy())
	require.NoError(t, err)
	assert.Equal(t, []string{"ns/web"}, v.missing)
}

// Another SidecarSet, in the revision that it injects, has the same container. The event says so, because new Pods would be the same.
// Case sidecarset 27a.
func TestEventSaysWhichSidecarSetHasTheSameContainer(t *testing.T) {
	w := newWorld(t, func(set *v1beta1.SidecarSet) {
		set.Annotations = map[string]string{"apps.kruise.io/sidecarset-injects-since": controllertest.Now.Format(time.RFC3339)}
	})
	first := w.set().DeepCopy()
	first.Name, first.UID = "agents", "agents"
	data, err := sidecar.Data(&first.Spec)
	require.NoError(t, err)
	first.Spec.Containers[0].Name = "other"
	first.Spec.InjectionStrategy.Revision = &v1beta1.SidecarSetInjectRevision{RevisionName: new("agents-1")}
	w.Add(first, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: "agents-1", Namespace: controllertest.SystemNamespace, Labels: map[string]string{"kruise.io/sidecarset-name": "agents"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(first, kind)},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: 1,
	}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "ns", Labels: map[string]string{"app": "web"}, CreationTimestamp: metav1.NewTime(controllertest.Now.Add(2 * time.Second)),
	}})
	w.pass()
	assert.EqualValues(t, 1, w.set().Status.UninjectedPods)
	assert.Equal(t, []string{"Warning PodsNotInjected 1 Pods were created without the containers of this SidecarSet; SidecarSet logs is not injected, " +
		"because SidecarSet agents also has a container s; rename it, or select other Pods with one of the two; then recreate them: ns/web"}, w.Events())
}

// With many namespaces, a SidecarSet whose Pods change all the time does not look at all of them in each pass.
func TestManyNamespacesAreLookedAtNowAndThen(t *testing.T) {
	w := newWorld(t, func(set *v1beta1.SidecarSet) {
		set.Annotations = map[string]string{"apps.kruise.io/sidecarset-injects-since": controllertest.Now.Format(time.RFC3339)}
	})
	for i := range 1000 {
		w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("ns-%d", i)}})
	}
	looks, inner := 0, w.r.selectedPods
	w.r.selectedPods = func(namespace string, selector labels.Selector) ([]*corev1.Pod, error) {
		looks++
		return inner(namespace, selector)
	}
	w.Observe()
	look := func() *view {
		v, err := w.r.observe(w.r.set("logs").DeepCopy())
		require.NoError(t, err)
		return v
	}
	require.Empty(t, look().missing)
	w.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "ns-7", Labels: map[string]string{"app": "web"}, CreationTimestamp: metav1.NewTime(controllertest.Now.Add(2 * time.Second)),
	}})
	w.Observe()
	v := look()
	assert.Empty(t, v.missing)
	assert.Equal(t, 1001*time.Millisecond, v.lookAgain, "it is found then")
	assert.Equal(t, 1001, looks)
	w.Clock.SetTime(w.Clock.Now().Add(v.lookAgain))
	assert.Equal(t, []string{"ns-7/web"}, look().missing)
	assert.Equal(t, 2002, looks)
}

// The controller does not wait for an event of a Pod.
func TestLabelsOfANamespaceChangeWhichPodsAreUpgraded(t *testing.T) {
	w := newWorld(t, func(set *v1beta1.SidecarSet) {
		set.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	})
	label := func(labels map[string]string) {
		w.Update(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: labels}})
	}
	prod := map[string]string{"env": "prod"}
	label(prod)
	w.start(3)
	w.settle()
	require.Equal(t, [4]int32{3, 3, 3, 3}, w.counters())
	w.live(func(idle func()) {
		label(nil)
		idle()
		assert.Equal(t, [4]int32{}, w.counters())
		w.edit(image("s:2"))
		idle()
		assert.Zero(t, w.count("s", "s:2"))
		label(prod)
		idle()
		assert.Equal(t, int32(3), w.counters()[0])
		assert.Equal(t, 1, w.count("s", "s:2"))
	})
}

func TestWhichLabelsOfANamespaceMatter(t *testing.T) {
	namespace := func(labels ...string) *corev1.Namespace {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{}}}
		for _, key := range labels {
			object.Labels[key] = "prod"
		}
		return object
	}
	selecting := func(set *v1beta1.SidecarSet) {
		set.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	}
	everywhere := func(*v1beta1.SidecarSet) {}
	tests := map[string]struct {
		set           func(*v1beta1.SidecarSet)
		before, after *corev1.Namespace
		wakes         bool
	}{
		"selected now":                      {selecting, namespace(), namespace("env"), true},
		"no longer selected":                {selecting, namespace("env"), namespace(), true},
		"another label":                     {selecting, namespace("env"), namespace("env", "team"), false},
		"no selector":                       {everywhere, namespace(), namespace("env"), false},
		"its new Pods are no longer sent":   {everywhere, namespace(), namespace("control-plane"), true},
		"the same of one that is not in it": {selecting, namespace(), namespace("control-plane"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.set)
			w.Observe()
			var want []types.NamespacedName
			if test.wakes {
				want = []types.NamespacedName{{Name: "logs"}}
			}
			assert.Equal(t, want, w.r.changedNamespace(test.before, test.after))
		})
	}
}
