package podcreation

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/reconcile"
)

// world is a cluster with a SidecarSet for the namespaces with the label env=prod.
type world struct {
	*controllertest.Fixture
	t *testing.T
	r *Reconciler
	c *reconcile.Controller
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Fixture: controllertest.New(t, ""), t: t}
	r, skeleton := build(w.Deps, Options{Namespace: controllertest.SystemNamespace})
	c, err := skeleton.Build()
	require.NoError(t, err)
	w.r, w.c = r, c
	w.Add(setFor("prod"))
	return w
}

// setFor returns a SidecarSet for the namespaces with a label.
func setFor(env string) *v1beta1.SidecarSet {
	return &v1beta1.SidecarSet{
		ObjectMeta: metav1.ObjectMeta{Name: "logs"},
		Spec:       v1beta1.SidecarSetSpec{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": env}}},
	}
}

func (w *world) update(set *v1beta1.SidecarSet) {
	w.t.Helper()
	_, err := w.Kruise.AppsV1beta1().SidecarSets().Update(w.t.Context(), set, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// label reconciles a namespace, also after the time that the controller asks for, and returns its label.
func (w *world) label(name string) string {
	w.t.Helper()
	if wait := w.reconcile(name); wait > 0 {
		w.Clock.SetTime(w.Clock.Now().Add(wait))
		assert.Zero(w.t, w.reconcile(name))
	}
	namespace, err := w.Kube.CoreV1().Namespaces().Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	assert.NotContains(w.t, namespace.Labels, pub.PodCreationKeyOld)
	return namespace.Labels[pub.PodCreationKey]
}

// reconcile reconciles a namespace, and returns when to do so again.
func (w *world) reconcile(name string) time.Duration {
	w.t.Helper()
	result, err := w.c.Reconcile(w.t.Context(), types.NamespacedName{Name: name})
	require.NoError(w.t, err)
	return result.RequeueAfter
}

// observed is label with current caches.
func (w *world) observed(name string) string {
	w.t.Helper()
	w.Observe()
	return w.label(name)
}

func TestLabelOfNamespaces(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"prod", "test", "kube-system", controllertest.SystemNamespace, "control"} {
		labels := map[string]string{}
		switch name {
		case "prod":
			labels["env"], labels[pub.PodCreationKeyOld] = "prod", "none"
		case "test":
			labels["env"] = "test"
		case "control":
			labels["control-plane"] = "x"
		}
		w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	assert.Empty(t, w.observed("prod"))
	assert.Equal(t, "ignored", w.observed("test"))
	for _, name := range []string{"kube-system", controllertest.SystemNamespace, "control"} {
		assert.Empty(t, w.observed(name), "no Pod of %s is sent to admission", name)
	}
	w.update(setFor("test"))
	assert.Equal(t, "ignored", w.observed("prod"))
	assert.Empty(t, w.observed("test"))
	everywhere := setFor("")
	everywhere.Spec.NamespaceSelector = nil
	w.update(everywhere)
	assert.Empty(t, w.observed("prod"))
	w.Writes()
	assert.Empty(t, w.observed("test"))
	assert.Empty(t, w.Writes(), "nothing is written twice")
}

// A change of a SidecarSet concerns the namespaces that the old selector or the new one selects.
func TestNamespacesThatASidecarSetConcerns(t *testing.T) {
	w := newWorld(t)
	for _, env := range []string{"prod", "test", "other"} {
		w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: env, Labels: map[string]string{"env": env}}})
	}
	w.Observe()
	keys := func(before, after metav1.Object) (names []string) {
		for _, key := range w.r.changedScope(before, after) {
			names = append(names, key.Name)
		}
		return names
	}
	assert.ElementsMatch(t, []string{"prod", "test"}, keys(setFor("prod"), setFor("test")))
	assert.ElementsMatch(t, []string{"prod"}, keys(nil, setFor("prod")))
	assert.ElementsMatch(t, []string{"test"}, keys(setFor("test"), nil))
	assert.Empty(t, keys(setFor("prod"), setFor("prod")))
}

// Pods in a namespace with a PersistentPodState or a WorkloadSpread are sent to admission, although no SidecarSet selects them.
func TestLabelOfNamespacesWithObjectsForNewPods(t *testing.T) {
	w := newWorld(t)
	state := &v1beta1.PersistentPodState{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Name: "a"}}
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "test"}}, state)
	assert.Empty(t, w.observed("test"))
	assert.Equal(t, []types.NamespacedName{{Name: "test"}}, itsNamespace(nil, state))
	assert.Equal(t, []types.NamespacedName{{Name: "test"}}, itsNamespace(state, nil))
	assert.Empty(t, itsNamespace(state, state))
	require.NoError(t, w.Kruise.AppsV1beta1().PersistentPodStates("test").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	assert.Equal(t, "ignored", w.observed("test"))
	w.Add(&v1beta1.WorkloadSpread{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Name: "a"}})
	assert.Empty(t, w.observed("test"))
}

// A namespace gets no label while the server has an object for its new Pods that the caches do not show yet.
func TestNamespaceIsNotIgnoredBecauseOfOldCaches(t *testing.T) {
	for name, object := range map[string]runtime.Object{
		"SidecarSet":         &v1beta1.SidecarSet{ObjectMeta: metav1.ObjectMeta{Name: "everywhere"}},
		"PersistentPodState": &v1beta1.PersistentPodState{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Name: "a"}},
		"WorkloadSpread":     &v1beta1.WorkloadSpread{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Name: "a"}},
		"nothing":            nil,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "test"}})
			w.Observe()
			want := "ignored"
			if object != nil {
				w.Add(object)
				want = ""
			}
			assert.Equal(t, want, w.label("test"))
		})
	}
}

// A namespace gets no label while users create a SidecarSet and Pods right after it, or right after they have deleted another SidecarSet.
func TestNamespaceIsIgnoredAfterAPause(t *testing.T) {
	w := newWorld(t)
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "test"}})
	w.Observe()
	later := func(seconds int) time.Duration {
		w.Clock.SetTime(w.Clock.Now().Add(time.Duration(seconds) * time.Second))
		w.Observe()
		return w.reconcile("test")
	}
	assert.Equal(t, 30*time.Second, later(0))
	assert.Equal(t, 10*time.Second, later(20))
	everywhere := &v1beta1.SidecarSet{ObjectMeta: metav1.ObjectMeta{Name: "everywhere"}}
	w.Add(everywhere)
	assert.Zero(t, later(15))
	require.NoError(t, w.Kruise.AppsV1beta1().SidecarSets().Delete(t.Context(), "everywhere", metav1.DeleteOptions{}))
	w.Writes()
	assert.Equal(t, 30*time.Second, later(60), "the pause begins again")
	assert.Equal(t, time.Second, later(29))
	assert.Empty(t, w.Writes())
	assert.Zero(t, later(1))
	assert.Len(t, w.Writes(), 1)
	assert.Zero(t, later(1))
	assert.Empty(t, w.Writes())
}

// Other labels may make a SidecarSet select the namespace. So the label is not added if the namespace has changed since it was checked.
func TestNamespaceIsNotIgnoredIfItHasChanged(t *testing.T) {
	w := newWorld(t)
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "test", ResourceVersion: "7"}})
	w.Observe()
	cached, err := w.r.namespaces.Get("test")
	require.NoError(t, err)
	conflict := apierrors.NewConflict(corev1.Resource("namespaces"), "test", errors.New("it has changed"))
	w.Kube.PrependReactor("patch", "namespaces", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch, ok := action.(clienttesting.PatchAction)
		require.True(t, ok)
		assert.Contains(t, string(patch.GetPatch()), `"resourceVersion":"`+cached.ResourceVersion+`"`)
		return true, nil, conflict
	})
	wait := w.reconcile("test")
	w.Clock.SetTime(w.Clock.Now().Add(wait))
	_, err = w.c.Reconcile(t.Context(), types.NamespacedName{Name: "test"})
	require.ErrorIs(t, err, conflict)
}

// A namespace that is created again under its name has a pause of its own, even if no reconcile has seen the deletion.
func TestNewNamespaceOfTheSameNameHasItsOwnPause(t *testing.T) {
	w := newWorld(t)
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "test", UID: "first"}})
	w.Observe()
	assert.Equal(t, 30*time.Second, w.reconcile("test"))
	require.NoError(t, w.Kube.CoreV1().Namespaces().Delete(t.Context(), "test", metav1.DeleteOptions{}))
	w.Clock.SetTime(w.Clock.Now().Add(time.Hour))
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "test", UID: "second"}})
	w.Observe()
	assert.Equal(t, 30*time.Second, w.reconcile("test"))
}
