package reviewendpoints

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/controller/controllertest"
)

func newPod(name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: controllertest.SystemNamespace, UID: types.UID(name), Finalizers: []string{"example.com/hold"},
		Labels: map[string]string{"app.kubernetes.io/name": "kruise", "app.kubernetes.io/component": "apiserver", Key: "true"},
	}}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func ready(pod *corev1.Pod) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
}

func ending(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.Now()) }

func excluded(pod *corev1.Pod) { pod.Labels[Key] = "false" }

func elsewhere(pod *corev1.Pod) { pod.Namespace = "ns" }

func other(pod *corev1.Pod) { pod.Labels["app.kubernetes.io/component"] = "controller" }

func TestReviewsGoToPodsThatWork(t *testing.T) {
	tests := map[string]struct {
		pods []*corev1.Pod
		want map[string]string
	}{
		"both are ready":             {[]*corev1.Pod{newPod("a", ready), newPod("b", ready)}, map[string]string{"a": "true", "b": "true"}},
		"one is not":                 {[]*corev1.Pod{newPod("a", ready), newPod("b")}, map[string]string{"a": "true", "b": "false"}},
		"one ends":                   {[]*corev1.Pod{newPod("a", ready), newPod("b", ready, ending)}, map[string]string{"a": "true", "b": "false"}},
		"one is ready again":         {[]*corev1.Pod{newPod("a", ready), newPod("b", ready, excluded)}, map[string]string{"a": "true", "b": "true"}},
		"the store is closed":        {[]*corev1.Pod{newPod("a"), newPod("b", excluded)}, map[string]string{"a": "true", "b": "true"}},
		"the only one is restarted":  {[]*corev1.Pod{newPod("a", ready, ending), newPod("b")}, map[string]string{"a": "true", "b": "true"}},
		"a controller is ready":      {[]*corev1.Pod{newPod("a"), newPod("b", ready, other)}, map[string]string{"a": "true", "b": "true"}},
		"a Pod of another namespace": {[]*corev1.Pod{newPod("a"), newPod("b", ready, elsewhere)}, map[string]string{"a": "true", "b": "true"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := controllertest.New(t, "")
			for _, pod := range test.pods {
				f.Add(pod)
			}
			f.Observe()
			c, err := New(f.Deps, Options{Namespace: controllertest.SystemNamespace})
			require.NoError(t, err)
			for range 2 {
				for _, pod := range test.pods {
					_, err := c.Reconcile(t.Context(), types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
					require.NoError(t, err)
				}
				f.Observe()
			}
			got := map[string]string{}
			for _, pod := range f.Pods() {
				got[pod.Name] = pod.Labels[Key]
			}
			assert.Equal(t, test.want, got)
			f.Writes()
			for _, pod := range test.pods {
				_, err := c.Reconcile(t.Context(), types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
				require.NoError(t, err)
			}
			assert.Empty(t, f.Writes())
		})
	}
}

// A Pod that becomes ready, or is no longer ready, concerns all Pods of the apiserver.
func TestChangeOfOnePodConcernsTheOthers(t *testing.T) {
	f := controllertest.New(t, "", newPod("a"), newPod("b"))
	f.Observe()
	r := &Reconciler{Options: Options{Namespace: controllertest.SystemNamespace}, pods: f.Deps.KubeInformers.Core().V1().Pods().Lister()}
	for name, test := range map[string]struct {
		before, after *corev1.Pod
		want          int
	}{
		"it becomes ready":          {newPod("a"), newPod("a", ready), 2},
		"it is not any more":        {newPod("a", ready), newPod("a"), 2},
		"it ends":                   {newPod("a", ready), newPod("a", ready, ending), 2},
		"another change":            {newPod("a", ready), newPod("a", ready, excluded), 0},
		"another Pod becomes ready": {newPod("a", other), newPod("a", other, ready), 0},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Len(t, r.others(test.before, test.after), test.want)
		})
	}
	assert.Len(t, r.others(newPod("a", ready), nil), 2, "it is deleted")
	assert.Len(t, r.others(nil, newPod("a", ready)), 2, "it is new")
}
