package uniteddeployment

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/controller"
)

// addCopy adds a copy of an object with another name, and with another owner if it has one.
func addCopy(w *world, object controller.Object, i int, owner types.UID) types.UID {
	w.t.Helper()
	another, ok := object.DeepCopyObject().(controller.Object)
	require.True(w.t, ok)
	another.SetName(fmt.Sprintf("%s-%d", object.GetName(), i))
	another.SetUID(types.UID(another.GetName()))
	if owners := another.GetOwnerReferences(); len(owners) > 0 {
		owners[0].UID = owner
		another.SetOwnerReferences(owners)
	}
	w.Add(another)
	return another.GetUID()
}

// BenchmarkPassWithoutChanges measures a pass over one of several UnitedDeployments with 2 CloneSets and 10 Pods each. Its time must not
// depend on the number of UnitedDeployments, and it writes nothing.
func BenchmarkPassWithoutChanges(b *testing.B) {
	for _, count := range []int{1, 200} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			w := newWorld(b, ofCloneSets(), scale(10))
			w.settle()
			w.rounds("a", "b")
			united, pods := w.united(), map[controller.Object][]*corev1.Pod{}
			for _, set := range w.workloads() {
				pods[set] = w.podsOf(set)
			}
			for i := range count - 1 {
				another := addCopy(w, united, i, "")
				for set := range pods {
					workload := addCopy(w, set, i, another)
					for _, pod := range pods[set] {
						addCopy(w, pod, i, workload)
					}
				}
			}
			w.Observe()
			w.Writes()
			b.ReportAllocs()
			for b.Loop() {
				_, err := w.Pass("ns", "web")
				require.NoError(b, err)
			}
			require.Empty(b, w.Writes())
		})
	}
}
