package uniteddeployment

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
)

func TestPatchAppliesOnlyToTheSameWorkload(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.settle()
	uid := string(w.cloneSet("a").UID)
	united := w.united()
	united.Spec.Replicas = new(int32(7))
	w.Update(united)
	w.Writes()
	w.Step("ns", "web")
	var patches []string
	for _, action := range w.Kruise.Actions() {
		if patch, ok := action.(clienttesting.PatchAction); ok {
			patches = append(patches, string(patch.GetPatch()))
		}
	}
	require.NotEmpty(t, patches)
	assert.Contains(t, strings.Join(patches, "\n"), `"metadata":{"uid":"`+uid+`"}`)
}

func TestStatefulSetThatHasNotSeenTheUpdateKeepsItsPods(t *testing.T) {
	w, _ := stuckWorld(t)
	set := w.workloads()["a"].(*appsv1.StatefulSet)
	set.Generation = set.Status.ObservedGeneration + 1
	w.Update(set)
	w.pass(300)
	w.settle()
	assert.Len(t, w.Pods(), 1)
}

// Case uniteddeployment 16.
func TestPartitionCountsFromTheFirstOrdinal(t *testing.T) {
	w, _ := stuckWorld(t, func(pod *corev1.Pod) { pod.Name = "web-5" })
	set := w.workloads()["a"].(*appsv1.StatefulSet)
	set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5}
	w.Update(set)
	w.edit(func(u *v1beta1.UnitedDeployment) {
		u.Spec.UpdateStrategy.ManualUpdate = &v1beta1.ManualUpdate{Partitions: map[string]int32{"a": 1}}
	})
	w.pass(300)
	w.settle()
	assert.Len(t, w.Pods(), 1)
}

func TestPartitionWithOnDeleteIsThePodsAtOldRevisions(t *testing.T) {
	template := ofCloneSets()
	template.CloneSetTemplate.Spec.UpdateStrategy.Type = v1beta1.OnDeleteCloneSetStrategyType
	w := newWorld(t, template)
	w.settle()
	w.rounds("a", "b")
	w.edit(image("web:2"))
	assert.Equal(t, map[string]int32{"a": 2, "b": 3}, w.partitions())
	assert.Nil(t, w.cloneSet("a").Spec.UpdateStrategy.RollingUpdate)
}

// versioned makes the server answer writes of a verb to a resource with a version that the caches have not reached.
func versioned(fake *clienttesting.Fake, verb, resource string, object runtime.Object) {
	fake.PrependReactor(verb, resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := action.(clienttesting.CreateAction)
		if !ok {
			return true, object, nil
		}
		accessor, err := meta.Accessor(create.GetObject())
		if err == nil {
			accessor.SetResourceVersion("1000")
		}
		return false, nil, err
	})
}

// Each pass waits until the caches show the writes of the last one. Otherwise it would write again.
func TestWritesAreAwaited(t *testing.T) {
	const version = "1000"
	for name, test := range map[string]struct {
		prepare func(t *testing.T) *world
		want    string
	}{
		"creation of a workload": {func(t *testing.T) *world {
			w := newWorld(t, ofCloneSets())
			w.Step("ns", "web") // The revision and the status.
			versioned(&w.Kruise.Fake, "create", "clonesets", nil)
			for _, set := range w.workloads() {
				require.NoError(t, w.Kruise.Tracker().Delete(v1beta1.SchemeGroupVersion.WithResource("clonesets"), "ns", set.GetName()))
			}
			return w
		}, "create clonesets"},
		"update of a workload": {func(t *testing.T) *world {
			w := newWorld(t, ofCloneSets())
			w.settle()
			versioned(&w.Kruise.Fake, "patch", "clonesets", &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}})
			united := w.united()
			scale(6)(united)
			w.Update(united)
			return w
		}, "patch clonesets"},
		"adoption of a workload": {func(t *testing.T) *world {
			w := orphaned(t, ofCloneSets())
			versioned(&w.Kruise.Fake, "patch", "clonesets", &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}})
			return w
		}, "patch clonesets"},
		"deletion of a workload": {func(t *testing.T) *world {
			w := newWorld(t, ofCloneSets())
			w.settle()
			united := w.united()
			united.Spec.Topology.Subsets = united.Spec.Topology.Subsets[:1]
			w.Update(united)
			return w
		}, "delete clonesets"},
		"label of a Pod": {func(t *testing.T) *world {
			w := newWorld(t, ofCloneSets(), adaptively(true, 2))
			w.settle()
			w.run()
			versioned(&w.Kube.Fake, "patch", "pods", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}})
			return w
		}, "patch pods"},
		"deletion of a stuck Pod": {func(t *testing.T) *world {
			w, _ := stuckWorld(t)
			w.settle()
			w.pass(30)
			return w
		}, "delete pods"},
		"deletion of a revision": {func(t *testing.T) *world {
			w := newWorld(t, ofCloneSets(), func(u *v1beta1.UnitedDeployment) { u.Spec.Replicas = new(int32(0)) })
			w.settle()
			w.edit(image("web:2"))
			united := w.united()
			united.Spec.RevisionHistoryLimit = new(int32(0))
			w.Update(united)
			return w
		}, "delete controllerrevisions"},
	} {
		t.Run(name, func(t *testing.T) {
			w := test.prepare(t)
			w.Observe()
			for _, informer := range []controller.Informer{w.Deps.KruiseInformers.Apps().V1beta1().CloneSets(), w.Deps.KubeInformers.Core().V1().Pods()} {
				indexer := informer.Informer().GetIndexer()
				require.NoError(t, indexer.Replace(indexer.List(), "10"))
			}
			w.Writes()
			_, err := w.Pass("ns", "web")
			require.NoError(t, err)
			require.Contains(t, strings.Join(w.Writes(), "\n"), test.want)
			result, err := w.Pass("ns", "web")
			require.NoError(t, err)
			assert.Empty(t, w.Writes())
			assert.NotZero(t, result.RequeueAfter)
		})
	}
}

// The cache will show what happened to the workload, and start another pass.
func TestWorkloadThatChangedMeanwhileIsNoFailure(t *testing.T) {
	for name, answer := range map[string]error{
		"deleted":  apierrors.NewNotFound(schema.GroupResource{}, "web-a"),
		"replaced": apierrors.NewConflict(schema.GroupResource{}, "web-a", nil),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ofCloneSets())
			w.settle()
			w.Events()
			for _, verb := range []string{"patch", "delete"} {
				w.Kruise.PrependReactor(verb, "clonesets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, answer })
			}
			united := w.united()
			united.Spec.Topology.Subsets = united.Spec.Topology.Subsets[:1]
			w.Update(united)
			w.Step("ns", "web")
			assert.Empty(t, w.Events())
		})
	}
}
