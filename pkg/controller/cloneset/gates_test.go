package cloneset

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/engine"
)

func dataClaims(size string) func(*v1beta1.CloneSetSpec) {
	return func(s *v1beta1.CloneSetSpec) {
		s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{
			Name: "data", Labels: map[string]string{"size": size},
		}}}
	}
}

func TestNeedsReconcile(t *testing.T) {
	tests := map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"nothing":               {func(*corev1.Pod) {}, false},
		"what the kubelet says": {func(p *corev1.Pod) { p.Status.Message = "x"; p.Status.PodIP = "10.0.0.1" }, false},
		"an annotation":         {func(p *corev1.Pod) { p.Annotations["note"] = "x" }, false},
		"its spec":              {func(p *corev1.Pod) { p.Generation++ }, true},
		"a label":               {func(p *corev1.Pod) { p.Labels["x"] = "y" }, true},
		"a finalizer":           {func(p *corev1.Pod) { p.Finalizers = []string{"a/b"} }, true},
		"another owner":         {func(p *corev1.Pod) { p.OwnerReferences[0].Name = "other" }, true},
		"no longer ready":       {func(p *corev1.Pod) { controllertest.ConditionOf(p, corev1.PodReady).Status = "False" }, true},
		"ready again meanwhile": {func(p *corev1.Pod) {
			controllertest.ConditionOf(p, corev1.PodReady).LastTransitionTime = metav1.Unix(1, 0)
		}, true},
		"finished":            {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
		"its deletion begins": {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, true},
		"held by an update": {func(p *corev1.Pod) {
			controllertest.ConditionOf(p, pub.InPlaceUpdateReadyConditionType).Status = "False"
		}, true},
		"drained by a hook that is gone": {func(p *corev1.Pod) {
			c := controllertest.ConditionOf(p, pub.KruisePodReadyConditionType)
			c.Status, c.Message = corev1.ConditionFalse, preUpdateKey
		}, true},
	}
	w := rolled(t, "", newSet(1))
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := w.Pods()[0]
			after := before.DeepCopy()
			tc.change(after)
			assert.Equal(t, tc.want, engine.NeedsReconcile(before, after))
		})
	}
}

// Case lifecycle 4.
func TestFinalizerOfWaitingPodIsSeen(t *testing.T) {
	w := newWorld(t, "CloneSetEventHandlerOptimization=true", newSet(1, func(s *v1beta1.CloneSetSpec) {
		s.Lifecycle = &pub.Lifecycle{PreNormal: &pub.LifecycleHook{FinalizersHandler: []string{"a/b"}}}
	}))
	w.settle()
	before := w.Pods()[0]
	require.Equal(t, "PreparingNormal", before.Labels["lifecycle.apps.kruise.io/state"])
	w.change(before.Name, func(p *corev1.Pod) { p.Finalizers = []string{"a/b"} })
	assert.True(t, engine.NeedsReconcile(before, w.Pods()[0]))
	w.settle()
	assert.Equal(t, "Normal", w.Pods()[0].Labels["lifecycle.apps.kruise.io/state"])
}

func TestClaimsThatChangeWithTheTemplateRecreate(t *testing.T) {
	tests := map[string]struct {
		gate     string
		policy   pub.PodUpdatePolicyType
		claims   string
		recreate bool
	}{
		"other claims":           {"true", pub.InPlaceIfPossiblePodUpdatePolicy, "2", true},
		"the same claims":        {"true", pub.InPlaceIfPossiblePodUpdatePolicy, "1", false},
		"in place only":          {"true", pub.InPlaceOnlyPodUpdatePolicy, "2", false},
		"the gate is off":        {"false", pub.InPlaceIfPossiblePodUpdatePolicy, "2", false},
		"the gate is off before": {"", pub.InPlaceIfPossiblePodUpdatePolicy, "2", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			gates := "RecreatePodWhenChangeVCTInCloneSetGate=" + tc.gate
			if tc.gate == "" {
				gates = ""
			}
			w := rolled(t, gates, newSet(1, policy(tc.policy), dataClaims("1")))
			_, err := strconv.ParseUint(w.newest().Annotations["kruise.io/cloneset-volumeclaimtemplate-hash"], 10, 64)
			require.Equal(t, tc.gate == "true", err == nil, "a decimal number, with the gate alone")
			before := w.names()[0]
			if tc.gate == "" {
				w.r.settings.recreateForClaims = true
			}
			w.edit(dataClaims(tc.claims))
			assert.Equal(t, []string{"update clonesets/status web"}, w.settle(), "claims alone start no rollout")
			w.edit(image("app:2"))
			w.settle()
			assert.Equal(t, tc.recreate, before != w.names()[0])
		})
	}
}

// TestHashOfAnOlderReleaseIsUnknown checks that Pods are not recreated because the hash of their claims has another form.
func TestHashOfAnotherProgramIsUnknown(t *testing.T) {
	w := rolled(t, "RecreatePodWhenChangeVCTInCloneSetGate=true", newSet(1, inPlaceIfPossible, dataClaims("1")))
	before, revision := w.names(), w.newest()
	revision.Annotations = map[string]string{"kruise.io/cloneset-volumeclaimtemplate-hash": "1234567890"}
	w.Update(revision)
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, before, w.names())
	assert.Equal(t, map[string]int{"app:2": 1}, w.images())
}

func TestRestoredRevisionUsesNewClaimTemplates(t *testing.T) {
	w := rolled(t, "RecreatePodWhenChangeVCTInCloneSetGate=true", newSet(1, inPlaceIfPossible, dataClaims("1")))
	w.edit(image("app:2"), dataClaims("2"))
	w.settle()
	name := w.names()[0]
	w.edit(image("app:1"))
	w.settle()
	assert.Equal(t, []string{name}, w.names(), "only the image went back")
}

// lag makes the cache of Pods report a version older than the last write.
func lag(w *world) {
	w.Deps.KubeInformers.Core().V1().Pods().Informer().GetIndexer().(interface{ Bookmark(string) }).Bookmark("1")
	w.guard.Wrote("set", pods, "2")
}

// The server has the write, so the cache is late.
// Case lifecycle 21.
func TestCacheThatNeverShowsTheWriteIsWaitedFor(t *testing.T) {
	w := newWorld(t, "", newSet(1))
	w.guard.Look = func(context.Context, schema.GroupResource, string, string) (string, metav1.Object, error) {
		return "2", nil, nil
	}
	w.Observe()
	lag(w)
	for range 3 {
		result, err := w.reconcile("web")
		require.NoError(t, err)
		assert.Positive(t, result.RequeueAfter)
		assert.Empty(t, w.Pods(), "it waits")
		w.wait(4 * time.Minute)
	}
}

// Case cloneset 26.
func TestRestartWithThousandPodsChangesNone(t *testing.T) {
	w := rolled(t, "", newSet(1))
	first := w.Pods()[0]
	for i := range 999 {
		pod := first.DeepCopy()
		pod.Name, pod.UID = fmt.Sprintf("web-%d", i), ""
		pod.Labels[pub.CloneSetInstanceIDKey] = fmt.Sprint(i)
		w.Add(pod)
	}
	set := w.set()
	status := &set.Status
	set.Spec.Replicas = new(int32(1000))
	for _, count := range []*int32{
		set.Spec.Replicas, &status.Replicas, &status.ReadyReplicas, &status.AvailableReplicas, &status.UpdatedReplicas,
		&status.UpdatedReadyReplicas, &status.UpdatedAvailableReplicas, &status.ExpectedUpdatedReplicas,
	} {
		*count = 1000
	}
	w.Update(set)
	w.Writes()
	synctest.Test(t, func(t *testing.T) {
		caches := controller.NewCaches(w.Kube, w.Kruise, "", 0)
		deps := caches.For(w.Deps)
		r, of := build(deps, Options{})
		passes, observe := 0, r.engine.Caches.Pods
		r.engine.Caches.Pods = func(owner metav1.Object) ([]*corev1.Pod, error) {
			passes++
			return observe(owner)
		}
		c, err := of.Build()
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		caches.Start(ctx, deps.Needs())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		<-time.After(time.Minute)
		cancel()
		running.Wait()
		caches.Wait()
		assert.Equal(t, 1, passes)
		assert.Empty(t, w.Writes())
	})
}
